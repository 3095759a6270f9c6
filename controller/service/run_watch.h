// A run's events on their way to a watcher.
#pragma once

#include <memory>

#include <grpcpp/support/server_callback.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "controller/run/run_events.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {

// The reactor of WatchRun: one event at a time is being written, the rest waits in the run's log,
// so a slow reader costs nothing. Deletes itself.
class RunWatchReactor final : public grpc::ServerWriteReactor<v1::RunEvent> {
 public:
  // Begins to write. Call once, unless Fail() was.
  void Start(std::shared_ptr<RunWatch> watch);
  void Fail(const absl::Status& status);
  // There may be something new. Any thread.
  void OnReady();

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void Next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  std::shared_ptr<RunWatch> watch_ ABSL_GUARDED_BY(mutex_);
  RunEventPtr current_ ABSL_GUARDED_BY(mutex_);  // being written
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::controller
