#include "controller/session/silence.h"

#include <gtest/gtest.h>

#include "controller/session/fleet_pace.h"

namespace muster::controller {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

class SilenceTest : public ::testing::Test {
 protected:
  // Sweeps as the controller does, until `end`.
  void SweepUntil(absl::Time end) {
    for (; now_ < end; now_ += absl::Seconds(1)) silence_.OnSweep(now_);
    silence_.OnSweep(now_);
  }
  bool IsLost(absl::Time seen) const { return silence_.Since(seen) + MaxSilence(6) < now_; }

  Silence silence_;
  absl::Time now_ = kStart;
};

TEST_F(SilenceTest, ANodeIsLostWithinFifteenSeconds) {
  SweepUntil(kStart + absl::Seconds(60));
  const absl::Time seen = now_;
  SweepUntil(seen + absl::Seconds(13));
  EXPECT_FALSE(IsLost(seen));
  SweepUntil(seen + absl::Seconds(14));
  EXPECT_TRUE(IsLost(seen));
}

TEST_F(SilenceTest, SweepsMayBeDueLessOften) {
  Silence silence(absl::Seconds(8));
  silence.OnSweep(kStart);
  EXPECT_EQ(silence.resumed_at(), kStart);
  silence.OnSweep(kStart + absl::Seconds(8));
  EXPECT_EQ(silence.resumed_at(), kStart);
  silence.OnSweep(kStart + absl::Seconds(17));
  EXPECT_EQ(silence.resumed_at(), kStart + absl::Seconds(17));
}

TEST_F(SilenceTest, AStalledControllerLosesNoNode) {
  SweepUntil(kStart + absl::Seconds(60));
  const absl::Time seen = now_;
  now_ += absl::Hours(1);  // suspended, or the clock was set forward
  silence_.OnSweep(now_);
  EXPECT_FALSE(IsLost(seen));
  // A node that says nothing afterwards either is lost.
  const absl::Time resumed = now_;
  SweepUntil(resumed + absl::Seconds(13));
  EXPECT_FALSE(IsLost(seen));
  SweepUntil(resumed + absl::Seconds(14));
  EXPECT_TRUE(IsLost(seen));
}

TEST_F(SilenceTest, ASweepThatIsALittleLateIsNoStall) {
  SweepUntil(kStart + absl::Seconds(60));
  const absl::Time seen = now_;
  for (int i = 0; i < 6; ++i) {
    now_ += absl::Milliseconds(2500);
    silence_.OnSweep(now_);
  }
  EXPECT_TRUE(IsLost(seen));
}

TEST_F(SilenceTest, AClockSetBackNeitherLosesNodesNorKeepsDeadOnes) {
  SweepUntil(kStart + absl::Hours(2));
  const absl::Time seen = now_;  // ahead of the clock from now on
  now_ -= absl::Hours(1);
  silence_.OnSweep(now_);
  EXPECT_FALSE(IsLost(seen));
  const absl::Time resumed = now_;
  SweepUntil(resumed + absl::Seconds(14));
  EXPECT_TRUE(IsLost(seen));
  EXPECT_FALSE(IsLost(now_));
}

}  // namespace
}  // namespace muster::controller
