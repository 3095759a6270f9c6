#include "controller/notify/pace.h"

#include <gtest/gtest.h>

namespace muster::controller::notify {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'900'000'000);

TEST(Pace, TwentyMessagesInAMinuteAndNoMore) {
  Pace pace;
  absl::Time now = kStart;
  for (size_t i = 0; i < Pace::kMaxMessages; ++i) {
    EXPECT_EQ(pace.Next(now), now) << i;
    pace.Sent(now);
    now += absl::Seconds(1);
  }
  EXPECT_EQ(pace.Next(now), kStart + Pace::kSpan);
  now = kStart + Pace::kSpan;
  EXPECT_EQ(pace.Next(now), now);
  pace.Sent(now);
  EXPECT_EQ(pace.Next(now), kStart + Pace::kSpan + absl::Seconds(1)) << "the second leaves";
}

TEST(Pace, AClockThatIsSetBackHoldsNothingUp) {
  Pace pace;
  for (size_t i = 0; i < Pace::kMaxMessages; ++i) pace.Sent(kStart);
  EXPECT_EQ(pace.Next(kStart - absl::Hours(1)), kStart - absl::Hours(1));
}

}  // namespace
}  // namespace muster::controller::notify
