#include "controller/health/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/controller/health/decision_fixture.h"

namespace muster::controller::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(HealthDecisionTest, ThePolicyDecidesWhatHappens) {
  struct Case {
    const char* policy;
    const char* condition;
    v1::HealthResponse response;
  };
  const Case cases[] = {
      {"", "gpu_lost", v1::HEALTH_RESPONSE_DRAINED},
      {"", "disk_full", v1::HEALTH_RESPONSE_NOTIFIED},
      {"", "oom_kill", v1::HEALTH_RESPONSE_NONE},
      {"", "of_a_newer_agent", v1::HEALTH_RESPONSE_NONE},
      {"health: {all: {conditions: {disk_full: drain}}}", "disk_full", v1::HEALTH_RESPONSE_DRAINED},
      {"health: {all: {conditions: {gpu_lost: observe}}}", "gpu_lost", v1::HEALTH_RESPONSE_NONE},
      {"health: {all: {observe_only: true}}", "gpu_lost", v1::HEALTH_RESPONSE_OBSERVED},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.policy, " ", c.condition));
    drains_.clear();
    holds_.clear();
    Begin(6, c.policy);
    Turn(2, {Bad(c.condition, "part", "evidence")});
    EXPECT_EQ(Decide(), c.response == v1::HEALTH_RESPONSE_DRAINED ? "c2" : "");
    EXPECT_EQ(ResponseOf(2, c.condition), c.response);
  }
}

TEST_F(HealthDecisionTest, TheHoldSaysWhatWasSeen) {
  Turn(2, {Bad("gpu_lost", "GPU-1", "Xid 79")});
  Decide();
  ASSERT_THAT(decision_.holds, SizeIs(1));
  EXPECT_EQ(decision_.holds[0].reason, "GPU-1: Xid 79");
  EXPECT_EQ(HoldOwner(decision_.holds[0].condition), "health:gpu_lost");
  EXPECT_EQ(ConditionOfOwner("health:gpu_lost"), "gpu_lost");
  EXPECT_EQ(ConditionOfOwner("admin:health"), std::nullopt);
}

TEST_F(HealthDecisionTest, OnlyWorkersBehindTheGateAreDrained) {
  View(2).can_drain = false;
  Turn(2, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_NOTIFIED);
}

TEST_F(HealthDecisionTest, UnknownNeitherDrainsNorClears) {
  Turn(2, {Unknown("gpu_lost")});
  EXPECT_EQ(Decide(), "");
  Turn(2, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "c2");
  Turn(2, {Unknown("gpu_lost")});
  EXPECT_EQ(Decide(absl::Hours(1)), "c2");
  nodes_[1].Take(v1::HealthReport(), sets_, now_);  // watches nothing any more
  EXPECT_EQ(Decide(absl::Hours(1)), "c2");
  Turn(2, {});
  View(2).away_since = now_;  // last words are no news
  EXPECT_EQ(Decide(absl::Hours(1)), "c2");
}

TEST_F(HealthDecisionTest, ADrainEndsAfterTheGoodTimeAndNotBefore) {
  Turn(2, {Bad("gpu_lost")});
  Decide();
  Turn(2, {});
  EXPECT_EQ(Decide(absl::Seconds(1)), "c2");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_RECOVERING);
  EXPECT_EQ(Decide(absl::Minutes(5) - absl::Seconds(1)), "c2");
  EXPECT_EQ(Decide(absl::Seconds(1)), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_UNSPECIFIED);
}

TEST_F(HealthDecisionTest, ABreakInTheGoodTimeBeginsItAnew) {
  Turn(2, {Bad("gpu_lost")});
  Decide();
  Turn(2, {});
  Decide();
  Decide(absl::Minutes(4));
  Turn(2, {Bad("gpu_lost")});
  Decide();
  Turn(2, {});
  Decide();
  EXPECT_EQ(Decide(absl::Minutes(4)), "c2");
  EXPECT_EQ(Decide(absl::Minutes(1)), "");
}

TEST_F(HealthDecisionTest, AConditionThatReturnsHasToBeWellForTheCoolDown) {
  Turn(2, {Bad("gpu_lost")});
  Decide();
  Turn(2, {});
  Decide();
  EXPECT_EQ(Decide(absl::Minutes(5)), "");
  Turn(2, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(absl::Minutes(10)), "c2") << "a bad node never gets jobs";
  Turn(2, {});
  Decide();
  EXPECT_EQ(Decide(absl::Minutes(29)), "c2");
  EXPECT_EQ(Decide(absl::Minutes(1)), "");
  EXPECT_EQ((drains_[{"c2", "gpu_lost"}].relapses), 1u);
  // Long afterwards it counts as a new fault.
  Decide(absl::Hours(1));
  EXPECT_THAT(drains_, IsEmpty());
}

TEST_F(HealthDecisionTest, ATestHasToPassAfterTheConditionWasWell) {
  Begin(6, "health: {all: {retest: acceptance}}");
  Turn(2, {Bad("gpu_lost")});
  Decide();
  View(2).pass = Pass{"acceptance", now_ + absl::Seconds(1)};  // before it was well
  now_ += absl::Minutes(1);
  Turn(2, {});
  Decide();
  EXPECT_THAT(decision_.retests, IsEmpty()) << "within the good time";
  EXPECT_EQ(Decide(absl::Minutes(5)), "c2");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_RETESTING);
  ASSERT_THAT(decision_.retests, SizeIs(1));
  EXPECT_EQ(decision_.retests[0].suite, "acceptance");
  View(2).pass = Pass{"quick", now_};  // another suite
  EXPECT_EQ(Decide(absl::Minutes(1)), "c2");
  View(2).pass = Pass{"acceptance", now_};
  EXPECT_EQ(Decide(absl::Minutes(1)), "");
}

TEST_F(HealthDecisionTest, TheBreakerStopsAFalseAlarmOfAllNodes) {
  for (int i = 1; i <= 6; ++i) Turn(i, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "c[1-2]");
  EXPECT_EQ(ResponseOf(3), v1::HEALTH_RESPONSE_BREAKER);
  EXPECT_THAT(breakers_, SizeIs(1));
  // Nothing trickles through in later windows.
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Decide(absl::Minutes(7)), "c[1-2]");
  // When the alarm is over it closes, a window later.
  for (int i = 1; i <= 6; ++i) Turn(i, {});
  Decide();
  EXPECT_THAT(breakers_, SizeIs(1));
  EXPECT_EQ(Decide(absl::Minutes(11)), "");
  EXPECT_THAT(breakers_, IsEmpty());
  Turn(4, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(absl::Minutes(1)), "c4");
}

TEST_F(HealthDecisionTest, ABreakerCountsNodesAndForgetsThemAfterItsWindow) {
  Begin(6, "health: {all: {breaker: {max_drained: 2, window: 10m}}}");
  Turn(1, {Bad("gpu_lost"), Bad("gpu_ecc")});
  EXPECT_EQ(Decide(), "c1");
  Turn(1, {Bad("gpu_lost"), Bad("gpu_ecc"), Bad("kernel_oops")});
  EXPECT_EQ(Decide(), "c1");
  EXPECT_EQ(decision_.counted["all"], 1u) << "three conditions of one node";
  Turn(2, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "c[1-2]");
  Turn(3, {Bad("gpu_lost")});
  now_ += absl::Minutes(11);
  EXPECT_EQ(Decide(), "c[1-3]") << "the drains of then are over the window";
  EXPECT_THAT(breakers_, IsEmpty());
}

TEST_F(HealthDecisionTest, GroupsHaveBreakersOfTheirOwn) {
  Begin(6,
        "groups: {gpu: {nodes: \"c[1-3]\"}}\n"
        "health: {all: {breaker: {max_drained: 5}}, gpu: {breaker: {max_drained: 1}}}");
  for (int i = 1; i <= 6; ++i) Turn(i, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "c[1,4-6]");
}

TEST_F(HealthDecisionTest, ANodeThatIsOutAlreadyIsHeldWhateverTheBreakerSays) {
  for (int i = 1; i <= 3; ++i) Turn(i, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "c[1-2]");
  View(3).in_service = false;  // not validated: it must not enter service like this
  EXPECT_EQ(Decide(), "c[1-3]");
  EXPECT_FALSE((drains_[{"c3", "gpu_lost"}].was_in_service));
  // What took it out proves it, so that it is free as soon as it is well.
  Turn(3, {});
  Decide();
  EXPECT_EQ(Decide(), "c[1-2]");
}

TEST_F(HealthDecisionTest, ASilenceLeavesTheNodeAlone) {
  silences_ = {
      {"s-1", "c[2-3]", "gpu_lost", now_ + absl::Hours(1), "maintenance", "admin:ann", now_}};
  Turn(2, {Bad("gpu_lost"), Bad("gpu_ecc")});
  EXPECT_EQ(Decide(), "c2") << "for gpu_ecc";
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_SILENCED);
  Turn(3, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "c2");
  EXPECT_EQ(Decide(absl::Hours(1)), "c[2-3]") << "it has ended";
}

TEST_F(HealthDecisionTest, APersonMayResumeABadNode) {
  Turn(2, {Bad("gpu_lost")});
  Decide();
  holds_.clear();  // muster node resume
  EXPECT_EQ(Decide(absl::Seconds(1)), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_ACKNOWLEDGED);
  EXPECT_EQ(Decide(absl::Hours(24)), "");
  Turn(2, {});
  Decide();
  Turn(2, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(absl::Hours(1)), "c2") << "it was well in between";
}

TEST_F(HealthDecisionTest, ASecondPartEndsAnAcknowledgement) {
  const v1::Condition zero = Bad("gpu_lost", "GPU-0", "Xid 79"),
                      five = Bad("gpu_lost", "GPU-5", "Xid 62");
  Turn(2, {zero});
  EXPECT_EQ(Decide(), "c2");
  Resume(2, "gpu_lost");
  EXPECT_EQ(Decide(), "");
  EXPECT_EQ(Decide(absl::Hours(24)), "") << "the same GPU";
  Turn(2, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "") << "the agent has forgotten its name";
  Turn(2, {zero, five});
  EXPECT_EQ(Decide(), "c2");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_DRAINED);
  ASSERT_THAT(decision_.holds, SizeIs(1));
  EXPECT_EQ(decision_.holds[0].reason, "GPU-5: Xid 62");
  // Both are known now, and one that was well in between is news.
  Resume(2, "gpu_lost");
  EXPECT_EQ(Decide(), "");
  Turn(2, {zero});
  EXPECT_EQ(Decide(absl::Hours(1)), "");
  Turn(2, {zero, five});
  EXPECT_EQ(Decide(absl::Hours(1)), "c2");
}

TEST_F(HealthDecisionTest, APartThatNobodyCanLookAtIsStillKnown) {
  const v1::Condition zero = Bad("gpu_lost", "GPU-0"), five = Bad("gpu_lost", "GPU-5");
  v1::Condition unseen = five;
  unseen.set_status(v1::CONDITION_STATUS_UNKNOWN);
  Turn(2, {zero, five});
  Decide();
  Resume(2, "gpu_lost");
  EXPECT_EQ(Decide(), "");
  Turn(2, {zero, unseen});
  EXPECT_EQ(Decide(absl::Hours(1)), "");
  Turn(2, {zero, five});
  EXPECT_EQ(Decide(absl::Hours(1)), "");
}

TEST_F(HealthDecisionTest, ASilencedPartLeavesTheAcknowledgementOfOthers) {
  Turn(2, {Bad("gpu_lost", "GPU-0")});
  Decide();
  Resume(2, "gpu_lost");
  Decide();
  silences_ = {{"s-1", "c2", "gpu_lost", now_ + absl::Hours(1), "maintenance", "admin:ann", now_}};
  Turn(2, {Bad("gpu_lost", "GPU-0"), Bad("gpu_lost", "GPU-5")});
  EXPECT_EQ(Decide(), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_SILENCED);
  Turn(2, {Bad("gpu_lost", "GPU-0")});
  EXPECT_EQ(Decide(absl::Hours(2)), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_ACKNOWLEDGED);
}

TEST_F(HealthDecisionTest, AnAcknowledgementOfAnEarlierVersionIsForWhatIsBadNow) {
  Turn(2, {Bad("gpu_lost", "GPU-0")});
  Decide();
  Resume(2, "gpu_lost");
  Decide();
  drains_[{"c2", "gpu_lost"}].known_parts.reset();
  Turn(2, {Bad("gpu_lost", "GPU-0"), Bad("gpu_lost", "GPU-5")});
  EXPECT_EQ(Decide(), "");
  Turn(2, {Bad("gpu_lost", "GPU-0"), Bad("gpu_lost", "GPU-5"), Bad("gpu_lost", "GPU-7")});
  EXPECT_EQ(Decide(), "c2");
}

TEST_F(HealthDecisionTest, APolicyThatDoesNotDrainAnyMoreLetsNodesGo) {
  Turn(2, {Bad("gpu_lost")});
  Decide();
  SetPolicy(6, "health: {all: {conditions: {gpu_lost: notify}}}");
  EXPECT_EQ(Decide(), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_NOTIFIED);
}

TEST_F(HealthDecisionTest, ALostNodeIsBadAfterSomeSeconds) {
  View(2).away_since = now_;
  Decide();
  EXPECT_EQ(ResponseOf(2, "node_lost"), v1::HEALTH_RESPONSE_UNSPECIFIED) << "it may be restarting";
  Decide(kLostAfter);
  EXPECT_EQ(ResponseOf(2, "node_lost"), v1::HEALTH_RESPONSE_NOTIFIED);
  SetPolicy(6, "health: {all: {conditions: {node_lost: drain}}}");
  EXPECT_EQ(Decide(), "c2");
  View(2).away_since.reset();
  Decide();
  EXPECT_EQ(Decide(absl::Minutes(5)), "");
}

TEST_F(HealthDecisionTest, AClockThatIsSetBackDoesNotKeepANodeOut) {
  Turn(2, {Bad("gpu_lost")});
  Decide();
  Turn(2, {});
  Decide();
  now_ -= absl::Hours(5);
  EXPECT_EQ(Decide(), "c2");
  EXPECT_EQ(Decide(absl::Minutes(5)), "");
}

TEST_F(HealthDecisionTest, TenThousandNodesAtOnceAreOneDecision) {
  Begin(10'000);
  for (int i = 1; i <= 10'000; ++i) Turn(i, {Bad("gpu_lost"), Bad("disk_full"), Bad("gpu_ecc")});
  const absl::Time before = absl::Now();
  Decide();
  // Takes some 50 ms; what is caught here is anything quadratic.
  EXPECT_LT(absl::Now() - before, absl::Seconds(30));
  EXPECT_THAT(holds_, SizeIs(2 * 200)) << "2 % of the nodes, two conditions each";
  EXPECT_THAT(breakers_, SizeIs(1));
}

}  // namespace
}  // namespace muster::controller::health
