#include "controller/web/hands.h"

#include <utility>

#include "common/base/clock.h"

namespace muster::controller {

Hands::Hands(Clock& clock) {
  for (size_t i = 0; i < kHands; ++i)
    workers_.push_back(std::make_unique<Worker>(clock, [this] { return Step(); }));
  for (const auto& worker : workers_) worker->Start();
}

Hands::~Hands() { Stop(); }

absl::Status Hands::Do(Job job) {
  {
    absl::MutexLock lock(&mutex_);
    if (waiting_.size() >= kMaxWaiting)
      return absl::ResourceExhaustedError(
          "too many changes wait for Slurm or the store; try again, or use the command line");
    waiting_.push_back(std::move(job));
  }
  for (const auto& worker : workers_) worker->Wake();
  return absl::OkStatus();
}

void Hands::Stop() {
  for (const auto& worker : workers_) worker->RequestStop();
  for (const auto& worker : workers_) worker->Stop();
  absl::MutexLock lock(&mutex_);
  waiting_.clear();
}

absl::Time Hands::Step() {
  Job job;
  {
    absl::MutexLock lock(&mutex_);
    if (waiting_.empty()) return absl::InfiniteFuture();
    job = std::move(waiting_.front());
    waiting_.pop_front();
  }
  job();
  return absl::InfinitePast();
}

}  // namespace muster::controller
