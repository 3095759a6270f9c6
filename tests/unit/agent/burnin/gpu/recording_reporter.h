// A reporter that keeps everything.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

// Thread-safe.
class RecordingReporter final : public Reporter {
 public:
  void SetPhase(absl::string_view phase, std::optional<double>) override {
    {
      absl::MutexLock lock(&mutex_);
      phases_.emplace_back(phase);
    }
    if (on_phase) on_phase(phase);
  }
  void AddSample(Sample sample) override {
    absl::MutexLock lock(&mutex_);
    samples_.push_back(std::move(sample));
  }
  absl::StatusOr<std::vector<Endpoint>> Meet(const Endpoint&, absl::Duration) override {
    return absl::UnimplementedError("no check of one node meets others");
  }
  bool stopping() const override { return stop; }

  // Set before the check runs.
  std::function<void(absl::string_view)> on_phase;
  std::atomic<bool> stop = false;

  std::vector<Sample> samples() const {
    absl::MutexLock lock(&mutex_);
    return samples_;
  }
  std::vector<std::string> phases() const {
    absl::MutexLock lock(&mutex_);
    return phases_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<std::string> phases_ ABSL_GUARDED_BY(mutex_);
  std::vector<Sample> samples_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::burnin
