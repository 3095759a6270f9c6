// A reporter that keeps what it is told.
#pragma once

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

// Thread-safe.
class RecordingReporter final : public Reporter {
 public:
  void SetPhase(absl::string_view, std::optional<double>) override {}
  void AddSample(Sample sample) override {
    absl::MutexLock lock(&mutex_);
    samples_.push_back(std::move(sample));
  }
  absl::StatusOr<std::vector<Endpoint>> Meet(const Endpoint&, absl::Duration) override {
    return absl::UnimplementedError("no check of one node meets others");
  }
  bool stopping() const override { return false; }

  std::vector<Sample> samples() const {
    absl::MutexLock lock(&mutex_);
    return samples_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<Sample> samples_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::burnin
