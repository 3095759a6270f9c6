// Several ranks of one check in this process: each has a thread, and they meet without a
// controller.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "agent/burnin/check.h"
#include "common/base/clock.h"
#include "common/checks/catalog.h"
#include "common/sys/file_system.h"
#include "common/sys/process.h"

namespace muster::testing {

// The meeting point of the ranks of a test. Thread-safe.
class BurninMeeting {
 public:
  explicit BurninMeeting(int ranks) : endpoints_(static_cast<size_t>(ranks)) {}

  absl::StatusOr<std::vector<burnin::Endpoint>> Meet(int rank, burnin::Endpoint listening,
                                                     absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    if (listening.address.empty()) listening.address = "127.0.0.1";
    endpoints_[static_cast<size_t>(rank)] = listening;
    ++came_;
    const auto complete = [this] { return came_ == endpoints_.size(); };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&complete), timeout))
      return absl::DeadlineExceededError("the others did not come");
    return endpoints_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<burnin::Endpoint> endpoints_;
  size_t came_ = 0;
};

// Keeps the reports of a check; can be told to stop it.
class RankReporter final : public burnin::Reporter {
 public:
  RankReporter(BurninMeeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  void SetPhase(absl::string_view phase, std::optional<double>) override {
    absl::MutexLock lock(&mutex_);
    phases_.emplace_back(phase);
    if (stop_at_ == phase) stopping_ = true;
  }
  void AddSample(burnin::Sample sample) override {
    absl::MutexLock lock(&mutex_);
    samples_.push_back(std::move(sample));
  }
  absl::StatusOr<std::vector<burnin::Endpoint>> Meet(const burnin::Endpoint& listening,
                                                     absl::Duration timeout) override {
    return meeting_.Meet(rank_, listening, timeout);
  }
  bool stopping() const override {
    absl::MutexLock lock(&mutex_);
    return stopping_;
  }

  void StopAt(std::string phase) { stop_at_ = std::move(phase); }
  std::vector<burnin::Sample> samples() const {
    absl::MutexLock lock(&mutex_);
    return samples_;
  }
  std::vector<std::string> phases() const {
    absl::MutexLock lock(&mutex_);
    return phases_;
  }

 private:
  BurninMeeting& meeting_;
  const int rank_;
  std::string stop_at_;
  mutable absl::Mutex mutex_;
  bool stopping_ = false;
  std::vector<std::string> phases_;
  std::vector<burnin::Sample> samples_;
};

using RankKeys = std::vector<std::string>;
// Changes the reporter of a rank before it starts.
using RankSetup = std::function<void(int rank, RankReporter& reporter)>;

// Runs a check on `keys.size()` ranks, over loopback; their results as the worker would print them.
inline std::vector<burnin::CheckResult> RunRanks(const checks::CheckSpec& check,
                                                 burnin::CheckFunction function,
                                                 const std::map<std::string, std::string>& given,
                                                 const RankKeys& keys,
                                                 const RankSetup& setup = nullptr) {
  const int ranks = static_cast<int>(keys.size());
  const checks::Parameters parameters = checks::Parameters::Parse(check, given).value();
  BurninMeeting meeting(ranks);
  RealClock clock;
  sys::RealFileSystem files;
  sys::RealProcessRunner processes;
  std::vector<burnin::CheckResult> results(keys.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto index = static_cast<size_t>(rank);
      RankReporter reporter(meeting, rank);
      if (setup) setup(rank, reporter);
      burnin::CheckContext context{.parameters = parameters,
                                   .reporter = reporter,
                                   .clock = clock,
                                   .files = files,
                                   .processes = processes,
                                   .rank = rank,
                                   .ranks = ranks,
                                   .pair_key = keys[index]};
      results[index] = function(context);
      burnin::FinishResult(check, results[index]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

// The value of a metric in a result, or nullopt.
inline std::optional<double> MetricOf(const burnin::CheckResult& result, absl::string_view name,
                                      absl::string_view variant = "") {
  for (const burnin::Metric& metric : result.metrics)
    if (metric.name == name && metric.variant == variant) return metric.value;
  return std::nullopt;
}

}  // namespace muster::testing
