#include "common/base/ticker.h"

#include <gtest/gtest.h>

#include "absl/synchronization/mutex.h"
#include "tests/fakes/fake_clock.h"

namespace muster {
namespace {

TEST(Ticker, WorksOnceAnIntervalUntilItIsStopped) {
  testing::FakeClock clock(absl::FromUnixSeconds(1'900'000'000));
  absl::Mutex mutex;
  int rounds = 0;
  Ticker ticker(clock, absl::Seconds(1), [&] {
    absl::MutexLock lock(&mutex);
    ++rounds;
  });
  ticker.Start();
  for (int round = 1; round <= 3; ++round) {
    const auto has_come = [&] { return rounds >= round; };
    // The thread waits for a time that it reads itself: advance the clock until it has arrived.
    for (int i = 0; i < 10'000; ++i) {
      clock.Advance(absl::Milliseconds(100));
      absl::MutexLock lock(&mutex);
      if (mutex.AwaitWithTimeout(absl::Condition(&has_come), absl::Milliseconds(1))) break;
    }
    absl::MutexLock lock(&mutex);
    ASSERT_GE(rounds, round);
  }
  ticker.Stop();
  ticker.Stop();
  const int before = rounds;
  clock.Advance(absl::Hours(1));
  EXPECT_EQ(rounds, before);
}

}  // namespace
}  // namespace muster
