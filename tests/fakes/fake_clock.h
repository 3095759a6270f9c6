// A clock that moves only when the test says so.
#pragma once

#include <functional>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster::testing {

// Waiting threads poll every few milliseconds, so Advance() wakes them. Thread-safe.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'900'000'000)) : now_(start) {}

  void Advance(absl::Duration duration) {
    absl::MutexLock lock(&mutex_);
    now_ += duration;
  }

  absl::Time Now() override {
    absl::MutexLock lock(&mutex_);
    return now_;
  }

  bool AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                  absl::Time deadline) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    absl::Time last = Now();
    while (!mutex.AwaitWithTimeout(condition, kLook)) {
      const absl::Time now = Now();
      if (now < last) deadline -= last - now;  // set back
      last = now;
      if (now >= deadline) return condition.Eval();
    }
    return true;
  }

  // Advances the time itself, so that code under test that waits alone continues.
  void Sleep(absl::Duration duration) override {
    Advance(duration);
    if (on_sleep) on_sleep();
  }

  // What happens while somebody sleeps, in that thread; to be set before.
  std::function<void()> on_sleep = nullptr;

 private:
  static constexpr absl::Duration kLook = absl::Milliseconds(2);
  absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::testing
