// How a watcher is told that there is something new.
#pragma once

#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace muster::controller {

// The callback of a watcher that may leave at any moment. Its lock is held during a call: never
// take it under a lock that the callback takes. Thread-safe.
class ReadyCallback {
 public:
  explicit ReadyCallback(std::function<void()> on_ready) : on_ready_(std::move(on_ready)) {}

  void Call() {
    absl::MutexLock lock(&mutex_);
    if (on_ready_) on_ready_();
  }
  // Afterwards it is not called any more; waits for a call in progress.
  void Drop() {
    absl::MutexLock lock(&mutex_);
    on_ready_ = nullptr;
  }

 private:
  absl::Mutex mutex_;
  std::function<void()> on_ready_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller
