// Time as a dependency that is passed in, so that tests control it; and a steady clock for waits
// that no test can simulate.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace muster {

// Wall time and waiting. Thread-safe. Nothing outside RealClock calls absl::Now() or sleeps.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() = 0;
  // Waits until `condition` holds or `deadline` has passed; true when it holds. Never longer than
  // `deadline` is away at the call, also when the clock is set back meanwhile: the caller may find
  // that it is earlier than it wanted.
  // REQUIRES: `mutex` is held by the caller; it is released while waiting.
  virtual bool AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                          absl::Time deadline) = 0;
  // Blocks the calling thread for `duration`.
  virtual void Sleep(absl::Duration duration) = 0;
};

// The time since some moment before. It runs evenly whatever is done to the wall clock, which often
// jumps minutes after a boot: for the time limits of programs and of others outside this process.
absl::Duration SteadyNow();

class RealClock final : public Clock {
 public:
  absl::Time Now() override;
  bool AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                  absl::Time deadline) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void Sleep(absl::Duration duration) override;
};

}  // namespace muster
