#include "controller/health/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/controller/health/health_fixture.h"

namespace muster::controller::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kNow = absl::FromUnixSeconds(1'900'000'000);

TEST(Fleet, StrangersAreNobody) {
  Fleet fleet;
  fleet.SetMembers({{"u1", "c1"}}, kNow);
  EXPECT_FALSE(fleet.Connect("u2", kNow));
  EXPECT_FALSE(fleet.Take("u2", Report({Bad("gpu_lost")}), kNow));
  EXPECT_THAT(fleet.nodes(), SizeIs(1));
  EXPECT_THAT(fleet.events(), IsEmpty());
}

TEST(Fleet, AFlappingNodeFillsNothing) {
  Fleet fleet;
  fleet.SetMembers({{"u1", "c1"}, {"u2", "c2"}}, kNow);
  for (int i = 0; i < 5000; ++i) {
    fleet.Take("u1", i % 2 == 0 ? Report({Bad("gpu_lost")}) : Report(), kNow);
  }
  EXPECT_THAT(fleet.events(), SizeIs(Fleet::kEventsPerMinute));
  EXPECT_EQ(fleet.dropped_events(), 5000u - Fleet::kEventsPerMinute);
  EXPECT_THAT(fleet.ReportsToStore(), SizeIs(1));
  // Others are heard all the same, and so is the node a minute later.
  fleet.Take("u2", Report({Bad("gpu_lost")}), kNow);
  EXPECT_THAT(fleet.events(), SizeIs(Fleet::kEventsPerMinute + 1));
  fleet.Take("u1", Report({Bad("gpu_ecc")}), kNow + absl::Minutes(1));
  EXPECT_EQ(fleet.nodes().at("u1").health.StandingOf("gpu_ecc"), Standing::kBad);
  EXPECT_THAT(fleet.events(), SizeIs(Fleet::kEventsPerMinute + 2));
}

TEST(Fleet, WhatTheStoreKnowsIsNotStoredAgain) {
  Fleet before;
  before.SetMembers({{"u1", "c1"}}, kNow);
  before.Take("u1", Report({Bad("gpu_lost")}), kNow);
  const std::vector<HealthReportRecord> stored = before.ReportsToStore();
  ASSERT_THAT(stored, SizeIs(1));
  before.SetStored();
  EXPECT_THAT(before.ReportsToStore(), IsEmpty());

  Fleet after;
  after.SetMembers({{"u1", "c1"}}, kNow + absl::Minutes(1));
  after.Restore(stored[0]);
  EXPECT_EQ(after.nodes().at("u1").health.StandingOf("gpu_lost"), Standing::kBad);
  after.Take("u1", Report({Bad("gpu_lost")}), kNow);
  EXPECT_THAT(after.ReportsToStore(), IsEmpty());
  EXPECT_THAT(after.events(), IsEmpty());
}

TEST(Fleet, AReportIsStoredOnceAndNotForAMachineThatIsGone) {
  Fleet fleet;
  fleet.SetMembers({{"u1", "c1"}, {"u2", "c2"}}, kNow);
  fleet.Take("u1", Report({Bad("gpu_lost")}), kNow);
  fleet.Take("u2", Report({Bad("gpu_lost")}), kNow);
  fleet.Take("u2", Report({Bad("gpu_ecc")}), kNow + absl::Seconds(1));
  fleet.SetMembers({{"u2", "c2"}}, kNow);
  const std::vector<HealthReportRecord> stored = fleet.ReportsToStore();
  ASSERT_THAT(stored, SizeIs(1));
  EXPECT_EQ(stored[0].node_uuid, "u2");
  EXPECT_EQ(stored[0].received_at, kNow + absl::Seconds(1));
  EXPECT_EQ(stored[0].report, Report({Bad("gpu_ecc")}).SerializeAsString());
  fleet.SetStored();
  fleet.Take("u2", Report(), kNow + absl::Seconds(2));
  EXPECT_THAT(fleet.ReportsToStore(), SizeIs(1));
}

// The names and the statuses of the events that the store lacks.
std::vector<std::string> History(const Fleet& fleet) {
  std::vector<std::string> history;
  for (const HealthEventRecord& event : fleet.events()) {
    v1::Condition condition;
    EXPECT_TRUE(condition.ParseFromString(event.event));
    history.push_back(absl::StrCat(event.node, " ", event.condition, " ",
                                   condition.status() == v1::CONDITION_STATUS_OK ? "ok" : "bad"));
  }
  return history;
}

TEST(Fleet, TheHistorySaysWhichNodesWereLostAndCameBack) {
  constexpr absl::Duration kPatience = absl::Seconds(15);
  Fleet fleet;
  fleet.SetMembers({{"u1", "c1"}, {"u2", "c2"}}, kNow);
  fleet.Connect("u1", kNow, "b1");
  fleet.Connect("u2", kNow, "b1");
  fleet.Disconnect("u1", kNow);
  fleet.NoteLost(kNow + absl::Seconds(14), kPatience);
  EXPECT_THAT(History(fleet), IsEmpty()) << "it may be restarting";
  fleet.NoteLost(kNow + kPatience, kPatience);
  fleet.NoteLost(kNow + absl::Minutes(1), kPatience);
  EXPECT_THAT(History(fleet), ElementsAre("c1 node_lost bad")) << "said once";
  fleet.Connect("u1", kNow + absl::Minutes(2), "b1");
  fleet.Connect("u1", kNow + absl::Minutes(3), "b1");
  EXPECT_THAT(History(fleet), ElementsAre("c1 node_lost bad", "c1 node_lost ok"));
  fleet.SetStored();
  // A short break is nothing, and a boot is told whether the node was missed or not.
  fleet.Disconnect("u2", kNow);
  fleet.Connect("u2", kNow + absl::Seconds(5), "b2");
  EXPECT_THAT(History(fleet), ElementsAre("c2 node_rebooted ok"));
}

TEST(Fleet, AnotherProcessKnowsWhatTheHistorySays) {
  Fleet fleet;
  fleet.SetMembers({{"u1", "c1"}, {"u2", "c2"}}, kNow);
  fleet.RestoreBoot("u1", "b1");
  fleet.RestoreBoot("u2", "b1");
  fleet.RestoreBoot("stranger", "b1");
  fleet.RestoreLost("u1");
  fleet.RestoreLost("stranger");
  fleet.NoteLost(kNow + absl::Hours(1), absl::Seconds(15));
  EXPECT_THAT(History(fleet), ElementsAre("c2 node_lost bad")) << "c1 is lost already";
  fleet.Connect("u1", kNow + absl::Hours(2), "b2");
  EXPECT_THAT(History(fleet),
              ElementsAre("c2 node_lost bad", "c1 node_rebooted ok", "c1 node_lost ok"));
}

TEST(Fleet, ANodeThatSaidTooMuchIsLostAllTheSame) {
  Fleet fleet;
  fleet.SetMembers({{"u1", "c1"}}, kNow);
  for (int i = 0; i < 200; ++i)
    fleet.Take("u1", i % 2 == 0 ? Report({Bad("gpu_lost")}) : Report(), kNow);
  fleet.SetStored();
  fleet.NoteLost(kNow + absl::Seconds(20), absl::Seconds(15));
  EXPECT_THAT(History(fleet), ElementsAre("c1 node_lost bad"));
}

TEST(Fleet, NodesAreExcusedForAPauseOfTheController) {
  constexpr absl::Duration kPatience = absl::Seconds(15);
  Fleet fleet;
  fleet.SetMembers({{"u1", "c1"}, {"u2", "c2"}, {"u3", "c3"}}, kNow + absl::Hours(24 * 365));
  fleet.Connect("u1", kNow);
  fleet.Connect("u2", kNow);
  fleet.Disconnect("u1", kNow);
  const absl::Time later = kNow + absl::Hours(1);
  fleet.Excuse(later, later + absl::Minutes(1));
  fleet.Disconnect("u2", later + absl::Seconds(1));
  fleet.NoteLost(later + absl::Minutes(1) + kPatience - absl::Seconds(1), kPatience);
  EXPECT_THAT(History(fleet), IsEmpty());
  fleet.NoteLost(later + absl::Minutes(1) + kPatience, kPatience);
  EXPECT_THAT(History(fleet),
              ElementsAre("c1 node_lost bad", "c2 node_lost bad", "c3 node_lost bad"));
  // Those that are lost stay lost, also when the clock is set back.
  fleet.Excuse(kNow, kNow + absl::Minutes(1));
  EXPECT_EQ(fleet.nodes().at("u1").away_since, kNow);
}

TEST(Fleet, ANodeIsAwayFromItsFirstDisconnection) {
  Fleet fleet;
  fleet.SetMembers({{"u1", "c1"}}, kNow + absl::Minutes(1));
  EXPECT_EQ(fleet.nodes().at("u1").away_since, kNow + absl::Minutes(1)) << "it may still come";
  fleet.Connect("u1", kNow);
  EXPECT_TRUE(fleet.nodes().at("u1").needs_settings);
  EXPECT_EQ(fleet.nodes().at("u1").away_since, std::nullopt);
  fleet.Disconnect("u1", kNow);
  fleet.Disconnect("u1", kNow + absl::Seconds(5));
  EXPECT_EQ(fleet.nodes().at("u1").away_since, kNow);
}

}  // namespace
}  // namespace muster::controller::health
