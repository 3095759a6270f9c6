// Periodic work in a thread of its own.
#pragma once

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace muster {

class Clock;

// Calls `work` every `interval` from Start() to Stop(), the first time after one interval.
class Ticker {
 public:
  // `clock` must outlive the object. `work` must not call Stop().
  Ticker(Clock& clock, absl::Duration interval, std::function<void()> work);
  ~Ticker();  // stops

  void Start();
  // Waits for work in progress; may be called twice.
  void Stop();

 private:
  void Loop();

  Clock& clock_;
  const absl::Duration interval_;
  const std::function<void()> work_;
  absl::Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster
