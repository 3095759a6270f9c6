// A validation's events on their way to a watcher.
#pragma once

#include <memory>

#include <grpcpp/support/server_callback.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "controller/validation/validation_events.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller {

// The reactor of WatchValidation: one event at a time is being written, the rest waits, bounded,
// in the watch. Deletes itself.
class ValidationWatchReactor final : public grpc::ServerWriteReactor<v1::ValidationEvent> {
 public:
  // Begins to write. Call once, unless Fail() was.
  void Start(std::shared_ptr<validation::ValidationWatch> watch);
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
  std::shared_ptr<validation::ValidationWatch> watch_ ABSL_GUARDED_BY(mutex_);
  validation::ValidationEventPtr current_ ABSL_GUARDED_BY(mutex_);  // being written
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::controller
