#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/controller/health/decision_fixture.h"

namespace muster::controller::health {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Nodes that gpu_lost puts into quarantine.
class QuarantineDecisionTest : public HealthDecisionTest {
 protected:
  void SetUp() override { Begin(6, kPolicy); }

  HealthDrainRecord& Row() { return drains_.at({"c2", "gpu_lost"}); }

  static constexpr char kPolicy[] = "health: {all: {conditions: {gpu_lost: quarantine}}}";
};

TEST_F(QuarantineDecisionTest, NothingButAnAdministratorEndsIt) {
  Turn(2, {Bad("gpu_lost", "GPU-1", "Xid 79")});
  EXPECT_EQ(Decide(), "c2");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_QUARANTINED);
  ASSERT_THAT(decision_.holds, SizeIs(1));
  EXPECT_TRUE(decision_.holds[0].is_quarantine);
  EXPECT_EQ(decision_.holds[0].reason, "GPU-1: Xid 79");
  EXPECT_FALSE(Row().is_cleared);
  Turn(2, {});
  EXPECT_EQ(Decide(), "c2");
  EXPECT_FALSE(Row().is_cleared) << "within the good time";
  EXPECT_EQ(Decide(absl::Minutes(5)), "c2");
  EXPECT_TRUE(Row().is_cleared);
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_QUARANTINED);
  EXPECT_EQ(Decide(absl::Hours(1000)), "c2");
  Resume(2, "gpu_lost");
  EXPECT_EQ(Decide(), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_UNSPECIFIED);
  // The next fault is another quarantine.
  Turn(2, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(absl::Hours(2)), "c2");
  EXPECT_TRUE(Row().is_quarantine);
  EXPECT_FALSE(Row().is_cleared);
}

TEST_F(QuarantineDecisionTest, ItIsClearedWhenTheNodeHasPassed) {
  SetPolicy(6, "health: {all: {retest: acceptance, conditions: {gpu_lost: quarantine}}}");
  View(2).in_service = false;  // which spares other drains the test
  Turn(2, {Bad("gpu_lost")});
  Decide();
  Turn(2, {});
  Decide();
  EXPECT_THAT(decision_.retests, IsEmpty());
  Decide(absl::Minutes(5));
  EXPECT_THAT(decision_.retests, SizeIs(1));
  EXPECT_FALSE(Row().is_cleared);
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_QUARANTINED);
  View(2).pass = Pass{"acceptance", now_};
  EXPECT_EQ(Decide(absl::Minutes(1)), "c2");
  EXPECT_TRUE(Row().is_cleared);
  EXPECT_THAT(decision_.retests, IsEmpty());
}

TEST_F(QuarantineDecisionTest, AProofEndsWhenTheConditionIsBadAgainAndNotBefore) {
  Turn(2, {Bad("gpu_lost")});
  Decide();
  Turn(2, {});
  Decide();
  Decide(absl::Minutes(5));
  ASSERT_TRUE(Row().is_cleared);
  View(2).away_since = now_;  // as while its agent is exchanged
  Decide(absl::Minutes(1));
  EXPECT_TRUE(Row().is_cleared);
  View(2).away_since.reset();
  Turn(2, {Bad("gpu_lost")});
  Decide();
  EXPECT_FALSE(Row().is_cleared);
  Turn(2, {});
  Decide();
  EXPECT_FALSE(Row().is_cleared);
  EXPECT_EQ(Decide(absl::Minutes(5)), "c2");
  EXPECT_TRUE(Row().is_cleared);
}

TEST_F(QuarantineDecisionTest, AnotherPolicyClearsItAndLetsNobodyGo) {
  for (const char* policy : {"", "health: {all: {conditions: {gpu_lost: notify}}}",
                             "health: {all: {observe_only: true}}"}) {
    SCOPED_TRACE(policy);
    drains_.clear();
    holds_.clear();
    Begin(6, kPolicy);
    Turn(2, {Bad("gpu_lost")});
    Decide();
    SetPolicy(6, policy);
    EXPECT_EQ(Decide(absl::Hours(1)), "c2");
    EXPECT_TRUE(Row().is_cleared);
    SetPolicy(6, kPolicy);
    Decide();
    EXPECT_FALSE(Row().is_cleared);
  }
}

TEST_F(QuarantineDecisionTest, ADrainedNodeIsQuarantinedWhenThePolicySaysSo) {
  SetPolicy(6, "");
  Turn(2, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "c2");
  EXPECT_FALSE(Row().is_quarantine);
  SetPolicy(6, kPolicy);
  EXPECT_EQ(Decide(), "c2");
  EXPECT_TRUE(Row().is_quarantine);
  ASSERT_THAT(decision_.holds, SizeIs(1));
  EXPECT_TRUE(decision_.holds[0].is_quarantine);
  Decide();
  EXPECT_THAT(decision_.holds, IsEmpty()) << "once";
}

TEST_F(QuarantineDecisionTest, WhatAnUpdateMakesBadForAWhileNeedsNoAdministrator) {
  View(2).is_worked_on = true;
  View(2).in_service = false;
  Turn(2, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "c2");
  Decide();
  EXPECT_FALSE(Row().is_quarantine);
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_DRAINED);
  Turn(2, {});
  Decide();
  EXPECT_EQ(Decide(), "");
  // What is still bad afterwards does.
  Turn(2, {Bad("gpu_lost")});
  View(2).in_service = false;
  Decide();
  View(2).is_worked_on = false;
  Decide();
  EXPECT_TRUE(Row().is_quarantine);
}

TEST_F(QuarantineDecisionTest, SilencesObserveOnlyAndTheBreakerHoldForIt) {
  silences_ = {{"s-1", "c2", "", now_ + absl::Hours(1), "test", "admin:ann", now_}};
  for (int i = 1; i <= 6; ++i) Turn(i, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "c[1,3]");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_SILENCED);
  EXPECT_EQ(ResponseOf(4), v1::HEALTH_RESPONSE_BREAKER);
  Begin(6, "health: {all: {observe_only: true, conditions: {gpu_lost: quarantine}}}");
  holds_.clear();
  drains_.clear();
  Turn(1, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "");
  EXPECT_EQ(ResponseOf(1), v1::HEALTH_RESPONSE_OBSERVED);
}

TEST_F(QuarantineDecisionTest, AHoldWithoutItsRowStaysAQuarantine) {
  holds_ = quarantines_ = {{"c2", "gpu_lost"}};  // a store that was restored from parts
  EXPECT_EQ(Decide(), "c2");
  EXPECT_EQ(Decide(absl::Hours(1)), "c2");
  EXPECT_TRUE(Row().is_quarantine);
}

}  // namespace
}  // namespace muster::controller::health
