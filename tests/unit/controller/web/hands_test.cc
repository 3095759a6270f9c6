#include "controller/web/hands.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"
#include "common/base/clock.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

TEST(Hands, OneThatHangsHoldsUpNoOther) {
  RealClock clock;
  absl::Notification release, done;
  {
    Hands hands(clock);
    ASSERT_OK(hands.Do([&] { release.WaitForNotification(); }));
    ASSERT_OK(hands.Do([&] { done.Notify(); }));
    EXPECT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(10)));
    release.Notify();
  }
}

TEST(Hands, TooManyAreRefusedAndTheRestIsDone) {
  RealClock clock;
  absl::Notification release;
  std::atomic<size_t> began = 0, done = 0;
  Hands hands(clock);
  for (size_t i = 0; i < Hands::kHands; ++i) {
    ASSERT_OK(hands.Do([&] {
      ++began;
      release.WaitForNotification();
      ++done;
    }));
  }
  for (int i = 0; i < 1000 && began < Hands::kHands; ++i) absl::SleepFor(absl::Milliseconds(10));
  for (size_t i = 0; i < Hands::kMaxWaiting; ++i) ASSERT_OK(hands.Do([&] { ++done; }));
  EXPECT_TRUE(absl::IsResourceExhausted(hands.Do([&] { ++done; })));
  release.Notify();
  const size_t all = Hands::kHands + Hands::kMaxWaiting;
  for (int i = 0; i < 1000 && done < all; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(done, all);
  hands.Stop();
  EXPECT_OK(hands.Do([&] { ++done; }));  // nobody does it any more
  EXPECT_EQ(done, all);
}

}  // namespace
}  // namespace muster::controller
