#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/controller/health/decision_fixture.h"

namespace muster::controller::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Nodes that are rebooted once for gpu_lost.
class RebootDecisionTest : public HealthDecisionTest {
 protected:
  void SetUp() override { Begin(6, kPolicy); }

  HealthDrainRecord& Row() { return drains_.at({"c2", "gpu_lost"}); }
  // As Reboots does with a reboot that is due.
  void StartReboot() {
    ASSERT_THAT(decision_.reboots, SizeIs(1));
    EXPECT_EQ(views_[decision_.reboots[0].node].name, "c2");
    EXPECT_EQ(decision_.reboots[0].condition, "gpu_lost");
    Row().reboot = HealthDrainRecord::kRunning;
    Row().rollout_id = "u-1";
    progress_ = RebootProgress::kOpen;
  }
  // c2 has been rebooted, and its agent is connected anew.
  void ComeBack() {
    progress_ = RebootProgress::kRebooted;
    View(2).has_reported = false;
    Decide(absl::Minutes(3));
  }
  void Report(const std::vector<v1::Condition>& conditions) {
    View(2).has_reported = true;
    Turn(2, conditions);
  }

  static constexpr char kPolicy[] =
      "health: {all: {conditions: {gpu_lost: reboot_once_then_drain}}}";
};

TEST_F(RebootDecisionTest, ARebootThatHelpsLetsTheNodeReturn) {
  Turn(2, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "c2");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_REBOOTING);
  EXPECT_EQ(Row().reboot, HealthDrainRecord::kDue) << "stored before anything is begun";
  EXPECT_THAT(decision_.reboots, IsEmpty());
  Decide(absl::Seconds(1));
  StartReboot();
  Decide(absl::Seconds(1));
  EXPECT_THAT(decision_.reboots, IsEmpty()) << "once";
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_REBOOTING);
  ComeBack();
  EXPECT_EQ(Row().reboot, HealthDrainRecord::kDone);
  Report({});
  EXPECT_EQ(Decide(), "c2");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_RECOVERING);
  EXPECT_EQ(Decide(absl::Minutes(5)), "");
}

TEST_F(RebootDecisionTest, AfterTheRebootTheNodeHasToPassTheSuite) {
  SetPolicy(6,
            "health: {all: {retest: acceptance, conditions: {gpu_lost: reboot_once_then_drain}}}");
  Turn(2, {Bad("gpu_lost")});
  Decide();
  Decide();
  StartReboot();
  ComeBack();
  Report({});
  Decide();
  EXPECT_EQ(Decide(absl::Minutes(5)), "c2");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_RETESTING);
  View(2).pass = Pass{"acceptance", now_};
  EXPECT_EQ(Decide(), "");
}

TEST_F(RebootDecisionTest, ARebootThatDoesNotHelpIsTheOnlyOne) {
  Turn(2, {Bad("gpu_lost", "GPU-1", "Xid 79")});
  Decide();
  Decide();
  StartReboot();
  ComeBack();
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_REBOOTING) << "what it said before counts no more";
  EXPECT_THAT(decision_.in_vain, IsEmpty());
  Report({Bad("gpu_lost", "GPU-1", "Xid 79")});
  EXPECT_EQ(Decide(), "c2");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_REBOOT_FAILED);
  ASSERT_THAT(decision_.in_vain, SizeIs(1));
  EXPECT_EQ(decision_.in_vain[0].reason, "a reboot did not help: GPU-1: Xid 79");
  EXPECT_EQ(Row().reboot, HealthDrainRecord::kInVain);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Decide(absl::Hours(24)), "c2");
    EXPECT_THAT(decision_.reboots, IsEmpty());
    EXPECT_THAT(decision_.in_vain, IsEmpty());
  }
  // Somebody has repaired it.
  Turn(2, {});
  Decide();
  EXPECT_EQ(Decide(absl::Minutes(5)), "");
}

TEST_F(RebootDecisionTest, AConditionThatReturnsWithinTheIntervalIsNotRebootedForAgain) {
  SetPolicy(6,
            "health: {all: {reboot_interval: 6h, "
            "conditions: {gpu_lost: reboot_once_then_drain}}}");
  Turn(2, {Bad("gpu_lost")});
  Decide();
  Decide();
  StartReboot();
  ComeBack();
  Report({});
  Decide();
  EXPECT_EQ(Decide(absl::Minutes(5)), "");
  Decide(absl::Hours(5));  // much longer than the cool-down
  Turn(2, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "c2");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_REBOOT_FAILED);
  EXPECT_EQ(decision_.holds[0].reason, "a reboot did not help: seen");
  Decide(absl::Minutes(1));
  EXPECT_THAT(decision_.reboots, IsEmpty());
  Turn(2, {});
  Decide();
  EXPECT_EQ(Decide(absl::Hours(1)), "") << "it returns as after a drain";
  // Long afterwards it is another fault.
  Decide(absl::Hours(7));
  EXPECT_THAT(drains_, IsEmpty());
  Turn(2, {Bad("gpu_lost")});
  Decide();
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_REBOOTING);
}

TEST_F(RebootDecisionTest, WhatKeepsANodeFromItsReboot) {
  struct Case {
    const char* what;
    RebootProgress::Kind progress;
    const char* reason;
    bool was_rebooted;
  };
  const Case cases[] = {
      {"the run failed", RebootProgress::kFailed, "the reboot failed (u-1): seen", true},
      {"aborted by a person", RebootProgress::kNotTried, "not rebooted (u-1): seen", false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    drains_.clear();
    holds_.clear();
    Begin(6, kPolicy);
    Turn(2, {Bad("gpu_lost")});
    Decide();
    Decide();
    StartReboot();
    progress_ = c.progress;
    EXPECT_EQ(Decide(absl::Minutes(1)), "c2");
    EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_REBOOT_FAILED);
    ASSERT_THAT(decision_.in_vain, SizeIs(1));
    EXPECT_EQ(decision_.in_vain[0].reason, c.reason);
    EXPECT_EQ(Row().rebooted_at.has_value(), c.was_rebooted);
    Decide(absl::Hours(1));
    EXPECT_THAT(decision_.reboots, IsEmpty());
  }
}

TEST_F(RebootDecisionTest, AConditionThatIsWellIsNotRebootedFor) {
  Turn(2, {Bad("gpu_lost")});
  Decide();
  Turn(2, {});
  Decide();
  EXPECT_THAT(decision_.reboots, IsEmpty());
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_RECOVERING);
  Turn(2, {Unknown("gpu_lost")});
  Decide();
  EXPECT_THAT(decision_.reboots, IsEmpty());
  Turn(2, {Bad("gpu_lost")});
  View(2).is_worked_on = true;
  Decide();
  EXPECT_THAT(decision_.reboots, IsEmpty()) << "an update may be rebooting it already";
  View(2).is_worked_on = false;
  View(2).is_persons = true;
  Decide();
  EXPECT_THAT(decision_.reboots, IsEmpty()) << "somebody may be at work on it";
  View(2).is_persons = false;
  Decide();
  EXPECT_THAT(decision_.reboots, SizeIs(1));
}

TEST_F(RebootDecisionTest, ASilenceAndObserveOnlyHoldForReboots) {
  silences_ = {{"s-1", "c2", "gpu_lost", now_ + absl::Hours(1), "test", "admin:ann", now_}};
  Turn(2, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_SILENCED);
  silences_.clear();
  EXPECT_EQ(Decide(), "c2");
  // One that comes after the drain keeps the node from its reboot.
  silences_ = {{"s-1", "c2", "", now_ + absl::Hours(1), "test", "admin:ann", now_}};
  Decide();
  EXPECT_THAT(decision_.reboots, IsEmpty());
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_REBOOTING);
  Decide(absl::Hours(1));
  EXPECT_THAT(decision_.reboots, SizeIs(1));

  SetPolicy(6,
            "health: {all: {observe_only: true, conditions: {gpu_lost: reboot_once_then_drain}}}");
  EXPECT_EQ(Decide(), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_OBSERVED);
  EXPECT_THAT(decision_.reboots, IsEmpty());
}

TEST_F(RebootDecisionTest, ARebootThatNobodyWantsAnyMoreIsCalledOff) {
  for (const char* policy :
       {"health: {all: {conditions: {gpu_lost: drain}}}",
        "health: {all: {conditions: {gpu_lost: notify}}}",
        "health: {all: {observe_only: true, conditions: {gpu_lost: reboot_once_then_drain}}}"}) {
    SCOPED_TRACE(policy);
    drains_.clear();
    holds_.clear();
    Begin(6, kPolicy);
    Turn(2, {Bad("gpu_lost")});
    Decide();
    Decide();
    StartReboot();
    SetPolicy(6, policy);
    Decide();
    EXPECT_THAT(decision_.call_offs, ElementsAre("u-1"));
    progress_ = RebootProgress::kEnding;
    Decide();
    EXPECT_THAT(decision_.call_offs, IsEmpty()) << "once";
    progress_ = RebootProgress::kNotTried;
    Decide();
    EXPECT_THAT(decision_.reboots, IsEmpty());
    EXPECT_EQ(Row().rebooted_at, std::nullopt);
  }
}

TEST_F(RebootDecisionTest, ANodeThatAPersonResumesIsNotRebooted) {
  Turn(2, {Bad("gpu_lost")});
  Decide();
  Resume(2, "gpu_lost");
  EXPECT_EQ(Decide(), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_ACKNOWLEDGED);
  EXPECT_THAT(decision_.reboots, IsEmpty());
  Decide(absl::Hours(1));
  EXPECT_THAT(decision_.reboots, IsEmpty());
}

TEST_F(RebootDecisionTest, TheBreakerCountsItAsADrain) {
  for (int i = 1; i <= 6; ++i) Turn(i, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "c[1-2]");
  EXPECT_EQ(decision_.counted["all"], 0u);
  Decide();
  EXPECT_EQ(decision_.counted["all"], 2u);
  EXPECT_EQ(ResponseOf(3), v1::HEALTH_RESPONSE_BREAKER);
  EXPECT_THAT(decision_.reboots, SizeIs(2)) << "of those that are drained";
}

TEST_F(RebootDecisionTest, AnEarlierDrainIsNotRebootedForWhenThePolicyChanges) {
  SetPolicy(6, "");
  Turn(2, {Bad("gpu_lost")});
  EXPECT_EQ(Decide(), "c2");
  SetPolicy(6, kPolicy);
  Decide();
  EXPECT_THAT(decision_.reboots, IsEmpty());
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_DRAINED);
}

}  // namespace
}  // namespace muster::controller::health
