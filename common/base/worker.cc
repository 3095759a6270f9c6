#include "common/base/worker.h"

#include <utility>

#include "common/base/clock.h"

namespace muster {

Worker::Worker(Clock& clock, Step step) : clock_(clock), step_(std::move(step)) {}

Worker::~Worker() { Stop(); }

void Worker::Start() {
  {
    absl::MutexLock lock(&mutex_);
    if (is_stopping_) return;
    is_running_ = true;
  }
  thread_ = std::thread([this] { Loop(); });
}

void Worker::Wake() {
  absl::MutexLock lock(&mutex_);
  is_woken_ = true;
}

void Worker::RequestStop() {
  absl::MutexLock lock(&mutex_);
  is_stopping_ = true;
}

void Worker::Stop() {
  RequestStop();
  if (thread_.joinable()) thread_.join();
}

bool Worker::is_stopping() const {
  absl::MutexLock lock(&mutex_);
  return is_stopping_;
}

bool Worker::has_ended() const {
  absl::MutexLock lock(&mutex_);
  return is_stopping_ && !is_running_;
}

void Worker::Loop() {
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      if (is_stopping_) {
        is_running_ = false;
        return;
      }
      // Before the step: what comes while it is running makes another one.
      is_woken_ = false;
    }
    const absl::Time next = step_();
    absl::MutexLock lock(&mutex_);
    clock_.AwaitUntil(mutex_, absl::Condition(this, &Worker::IsDue), next);
  }
}

}  // namespace muster
