#include "controller/web/task_pool.h"

#include <utility>

#include "common/base/clock.h"

namespace muster::controller {

TaskPool::TaskPool(Clock& clock) {
  for (size_t i = 0; i < kThreads; ++i)
    workers_.push_back(std::make_unique<Worker>(clock, [this] { return Step(); }));
  for (const auto& worker : workers_) worker->Start();
}

TaskPool::~TaskPool() { Stop(); }

absl::Status TaskPool::Do(Task task) {
  {
    absl::MutexLock lock(&mutex_);
    if (waiting_.size() >= kMaxWaiting)
      return absl::ResourceExhaustedError(
          "too many changes wait for Slurm or the store; try again, or use the command line");
    waiting_.push_back(std::move(task));
  }
  for (const auto& worker : workers_) worker->Wake();
  return absl::OkStatus();
}

void TaskPool::Stop() {
  for (const auto& worker : workers_) worker->RequestStop();
  for (const auto& worker : workers_) worker->Stop();
  absl::MutexLock lock(&mutex_);
  waiting_.clear();
}

absl::Time TaskPool::Step() {
  Task task;
  {
    absl::MutexLock lock(&mutex_);
    if (waiting_.empty()) return absl::InfiniteFuture();
    task = std::move(waiting_.front());
    waiting_.pop_front();
  }
  task();
  return absl::InfinitePast();
}

}  // namespace muster::controller
