#include "controller/power/power_pace.h"

#include <map>
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::controller::power {
namespace {

using ::muster::testing::Said;

const absl::Time kNow = absl::FromUnixSeconds(1'900'000'000);

PowerNeed Need(const std::string& rack, double limit = 0) {
  return {.rack = rack,
          .limit_watts = limit,
          .start_watts = 1000,
          .idle_watts = 300,
          .gap = absl::Seconds(2)};
}

TEST(PowerPaceTest, TwoOfARackHaveAGapBetweenThem) {
  PowerPace pace;
  EXPECT_TRUE(pace.Ask("c1", Need("r1"), kNow).is_now);
  const PowerPace::Turn second = pace.Ask("c2", Need("r1"), kNow + absl::Seconds(1));
  EXPECT_FALSE(second.is_now);
  EXPECT_FALSE(second.is_never);
  EXPECT_EQ(second.again, kNow + absl::Seconds(2));
  EXPECT_THAT(second.why, Said());
  EXPECT_TRUE(pace.Ask("c2", Need("r1"), kNow + absl::Seconds(2)).is_now);
}

TEST(PowerPaceTest, OtherRacksAndNodesWithoutOneNeverWait) {
  PowerPace pace;
  EXPECT_TRUE(pace.Ask("c1", Need("r1"), kNow).is_now);
  EXPECT_TRUE(pace.Ask("c2", Need("r2"), kNow).is_now);
  EXPECT_TRUE(pace.Ask("x1", Need(""), kNow).is_now);
  EXPECT_TRUE(pace.Ask("x2", Need(""), kNow).is_now);
}

// As many as the rack carries while they start; the next when the first have settled.
TEST(PowerPaceTest, ARackIsNeverOverItsLimit) {
  PowerPace pace;
  int on = 0;
  absl::Time now = kNow;
  for (; now < kNow + absl::Minutes(1); now += absl::Seconds(2))
    on += pace.Ask(absl::StrCat("c", on), Need("r1", 4500), now).is_now ? 1 : 0;
  EXPECT_EQ(on, 4);
  // Those that have settled draw 300 W: 4 · 300 + 3 · 1000 is within 4500, and one more is not.
  for (; now < kNow + absl::Minutes(2); now += absl::Seconds(2))
    on += pace.Ask(absl::StrCat("c", on), Need("r1", 4500), now).is_now ? 1 : 0;
  EXPECT_EQ(on, 7);
}

TEST(PowerPaceTest, WhatIsOnAlreadyCounts) {
  PowerPace pace;
  PowerNeed need = Need("r1", 2000);
  need.others = std::make_shared<std::map<std::string, double>>(
      std::map<std::string, double>{{"c7", 600}, {"c8", 600}});
  const PowerPace::Turn turn = pace.Ask("c1", need, kNow);
  EXPECT_FALSE(turn.is_now);
  EXPECT_TRUE(turn.is_never) << "nothing starts that it could wait for";
  EXPECT_THAT(turn.why, Said());
  // One of them is switched off, and the machine itself is never one of its others.
  pace.SetOff("c8", kNow);
  EXPECT_TRUE(pace.Ask("c1", need, kNow).is_now);
  EXPECT_FALSE(pace.Ask("c7", need, kNow).is_now) << "c1 starts";
  EXPECT_TRUE(pace.Ask("c1", need, kNow + absl::Minutes(20)).is_never) << "c8 may be on again";
}

TEST(PowerPaceTest, WaitsWhereOthersStart) {
  PowerPace pace;
  EXPECT_TRUE(pace.Ask("c1", Need("r1", 1500), kNow).is_now);
  const PowerPace::Turn turn = pace.Ask("c2", Need("r1", 1500), kNow + absl::Seconds(10));
  EXPECT_FALSE(turn.is_never);
  EXPECT_EQ(turn.again, kNow + PowerPace::kStartTime);
  EXPECT_THAT(turn.why, Said());
  pace.SetOff("c1", kNow + absl::Seconds(11));
  EXPECT_TRUE(pace.Ask("c2", Need("r1", 1500), kNow + absl::Seconds(11)).is_now);
}

TEST(PowerPaceTest, AClockThatIsSetBackHoldsNobodyUp) {
  PowerPace pace;
  EXPECT_TRUE(pace.Ask("c1", Need("r1"), kNow).is_now);
  EXPECT_TRUE(pace.Ask("c2", Need("r1"), kNow - absl::Hours(1)).is_now);
}

}  // namespace
}  // namespace muster::controller::power
