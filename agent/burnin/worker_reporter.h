// The Reporter of a running worker: collects, and writes periodically.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/burnin/check.h"
#include "agent/burnin/curves.h"
#include "agent/burnin/output.h"

namespace muster::burnin {

// A thread of its own writes the news every `interval`, so that a slow reader of its output never
// holds up a check. Thread-safe.
class WorkerReporter final : public Reporter {
 public:
  // `interrupted` is set by a signal; it is only read here.
  WorkerReporter(Output& output, Clock& clock, const std::atomic<bool>& interrupted,
                 absl::Duration interval);
  ~WorkerReporter() override;

  void SetPhase(absl::string_view phase, std::optional<double> fraction) override;
  void AddSample(Sample sample) override;
  absl::StatusOr<std::vector<Endpoint>> Meet(const Endpoint& listening,
                                             absl::Duration timeout) override;
  bool stopping() const override;

  // The messages of standard input.
  void SetPeers(std::vector<Endpoint> peers);
  // Only the first reason counts.
  void Stop(const std::string& reason);
  // "": nobody asked to stop.
  std::string stop_reason() const;

  // Writes what is left and then writes no more. Returns the samples of the whole check, thinned.
  std::vector<Sample> Finish();

 private:
  void WriteWhatIsNew();
  bool IsStopping() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool HasPeersOrStops() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  Output& output_;
  Clock& clock_;
  const std::atomic<bool>& interrupted_;
  const absl::Duration interval_;

  mutable absl::Mutex mutex_;
  Progress progress_ ABSL_GUARDED_BY(mutex_);  // samples and listening: not yet written
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  Curves curves_ ABSL_GUARDED_BY(mutex_);
  std::vector<Endpoint> peers_ ABSL_GUARDED_BY(mutex_);
  std::string stop_reason_ ABSL_GUARDED_BY(mutex_);
  std::thread writer_;
};

}  // namespace muster::burnin
