#include "agent/health/hysteresis.h"

#include <gtest/gtest.h>

namespace muster::agent::health {
namespace {

constexpr Patience kPatience = {.bad_after = absl::Seconds(50), .good_after = absl::Seconds(120)};
constexpr absl::Duration kLongestStep = absl::Seconds(60);

class HysteresisTest : public ::testing::Test {
 protected:
  Status See(Status seen, absl::Duration later = absl::Seconds(30)) {
    now_ += later;
    return state_.See(seen, kPatience, kLongestStep, now_);
  }

  absl::Time now_ = absl::FromUnixSeconds(1'900'000'000);
  Hysteresis state_;
};

TEST_F(HysteresisTest, OneBadLookIsNothing) {
  EXPECT_EQ(See(Status::kBad), Status::kOk);
  EXPECT_EQ(See(Status::kOk), Status::kOk);
  EXPECT_EQ(See(Status::kBad), Status::kOk);
  EXPECT_EQ(See(Status::kOk), Status::kOk);
  EXPECT_TRUE(state_.is_idle());
}

TEST_F(HysteresisTest, WhatLastsIsBadAndHealsSlowly) {
  EXPECT_EQ(See(Status::kBad), Status::kOk);
  EXPECT_EQ(See(Status::kBad), Status::kOk);   // for 30 s
  EXPECT_EQ(See(Status::kBad), Status::kBad);  // for 60 s
  EXPECT_EQ(See(Status::kOk), Status::kBad);
  EXPECT_EQ(See(Status::kOk, absl::Seconds(60)), Status::kBad);
  EXPECT_EQ(See(Status::kOk, absl::Seconds(60)), Status::kOk);
  EXPECT_TRUE(state_.is_idle());
}

TEST_F(HysteresisTest, FlickeringWhileBadStaysBad) {
  for (int i = 0; i < 3; ++i) See(Status::kBad);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(See(Status::kOk), Status::kBad);
    EXPECT_EQ(See(Status::kBad), Status::kBad);
  }
}

TEST_F(HysteresisTest, NotBeingAbleToLookEndsNothing) {
  for (int i = 0; i < 3; ++i) See(Status::kBad);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(See(Status::kUnknown), Status::kBad);
}

TEST_F(HysteresisTest, UnknownEndsWithTheFirstGoodLook) {
  EXPECT_EQ(See(Status::kUnknown), Status::kOk);
  EXPECT_EQ(See(Status::kUnknown), Status::kOk);
  EXPECT_EQ(See(Status::kUnknown), Status::kUnknown);
  EXPECT_EQ(See(Status::kOk), Status::kOk);
}

TEST_F(HysteresisTest, ClocksThatAreSetMakeNothingBadOrGood) {
  EXPECT_EQ(See(Status::kBad), Status::kOk);
  // No more counts than the distance of two looks may be.
  state_ = Hysteresis();
  EXPECT_EQ(state_.See(Status::kBad, {.bad_after = absl::Minutes(10)}, kLongestStep, now_),
            Status::kOk);
  EXPECT_EQ(state_.See(Status::kBad, {.bad_after = absl::Minutes(10)}, kLongestStep,
                       now_ + absl::Hours(24 * 365)),
            Status::kOk);
  // Back: nothing counts, and nothing is forgotten.
  EXPECT_EQ(state_.See(Status::kBad, {.bad_after = absl::Seconds(90)}, kLongestStep, now_),
            Status::kOk);
  EXPECT_EQ(state_.See(Status::kBad, {.bad_after = absl::Seconds(90)}, kLongestStep,
                       now_ + absl::Seconds(30)),
            Status::kBad);
}

TEST(Hysteresis, WithoutPatienceTheFirstLookCounts) {
  Hysteresis state;
  const absl::Time now = absl::FromUnixSeconds(1);
  EXPECT_EQ(state.See(Status::kBad, {}, kLongestStep, now), Status::kBad);
  EXPECT_EQ(state.See(Status::kOk, {}, kLongestStep, now + kLongestStep), Status::kOk);
}

}  // namespace
}  // namespace muster::agent::health
