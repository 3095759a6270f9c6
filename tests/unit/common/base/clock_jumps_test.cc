#include "common/base/clock_jumps.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster {
namespace {

constexpr absl::Duration kLong = absl::Seconds(30);

bool Never(int*) { return false; }
int nothing = 0;

TEST(ClockJumps, WakesAWaitThatHasBegun) {
  ClockJumps jumps;
  absl::Mutex mutex;
  bool has_begun = false, was_woken = false;
  std::thread thread([&] {
    absl::MutexLock lock(&mutex);
    const absl::Condition never(&Never, &nothing);
    ClockJumps::Wait wait(jumps, mutex, never);
    has_begun = true;
    was_woken = mutex.AwaitWithTimeout(absl::Condition(&wait, &ClockJumps::Wait::IsOver), kLong) &&
                wait.has_jumped();
  });
  {
    absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(&has_begun));
  }
  jumps.Tell();
  thread.join();
  EXPECT_TRUE(was_woken);
}

TEST(ClockJumps, WaitsForAMutexThatSomebodyHolds) {
  ClockJumps jumps;
  absl::Mutex mutex;
  const absl::Condition never(&Never, &nothing);
  mutex.Lock();
  ClockJumps::Wait wait(jumps, mutex, never);
  std::atomic<bool> is_told = false;
  std::thread teller([&] {
    jumps.Tell();
    is_told = true;
  });
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_FALSE(is_told);
  EXPECT_FALSE(wait.has_jumped());
  mutex.Unlock();
  teller.join();
  absl::MutexLock lock(&mutex);
  EXPECT_TRUE(wait.has_jumped());
  wait.Continue();
  EXPECT_FALSE(wait.IsOver());
}

TEST(ClockJumps, LetsGoOfWaitsThatEndMeanwhile) {
  ClockJumps jumps;
  std::atomic<bool> stops = false;
  std::vector<std::thread> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back([&] {
      const absl::Condition never(&Never, &nothing);
      while (!stops) {
        absl::Mutex mutex;
        absl::MutexLock lock(&mutex);
        ClockJumps::Wait wait(jumps, mutex, never);
        mutex.AwaitWithTimeout(absl::Condition(&wait, &ClockJumps::Wait::IsOver),
                               absl::Microseconds(50));
      }
    });
  }
  for (int i = 0; i < 200; ++i) jumps.Tell();
  stops = true;
  for (std::thread& thread : waiting) thread.join();
}

// What happens when the clock is set, without setting it: a wait that is told looks at the time
// again, and neither ends early nor later than it would have.
TEST(RealClock, AWaitThatIsToldEndsAtItsTime) {
  RealClock clock;
  absl::Mutex mutex;
  std::atomic<bool> has_ended = false;
  absl::Duration took;
  std::thread thread([&] {
    const absl::Time begin = absl::Now();
    absl::MutexLock lock(&mutex);
    const absl::Condition never(&Never, &nothing);
    EXPECT_FALSE(clock.AwaitUntil(mutex, never, clock.Now() + absl::Milliseconds(200)));
    took = absl::Now() - begin;
    has_ended = true;
  });
  while (!has_ended) {
    ClockJumps::OfKernel().Tell();
    absl::SleepFor(absl::Milliseconds(1));
  }
  thread.join();
  EXPECT_GE(took, absl::Milliseconds(200));
  EXPECT_LT(took, kLong);
}

TEST(RealClock, AWaitForAPastTimeEndsAtOnce) {
  RealClock clock;
  absl::Mutex mutex;
  absl::MutexLock lock(&mutex);
  EXPECT_FALSE(clock.AwaitUntil(mutex, absl::Condition(&Never, &nothing), absl::InfinitePast()));
  const bool holds = true;
  EXPECT_TRUE(clock.AwaitUntil(mutex, absl::Condition(&holds), absl::InfinitePast()));
}

}  // namespace
}  // namespace muster
