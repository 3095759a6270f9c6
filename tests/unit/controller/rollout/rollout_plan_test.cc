#include "controller/rollout/plan/rollout_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/rollout/plan/node_step.h"
#include "controller/rollout/plan/rollout_step.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/rollout/rollout_views.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kHour = absl::Hours(1);

TEST(Decide, TakesAsManyAsMayBeOut) {
  EXPECT_THAT(Words(ClusterOf(5, 1)), ElementsAre("take c001"));
  EXPECT_THAT(Words(ClusterOf(5, 3)), ElementsAre("take c001", "take c002", "take c003"));
  RolloutView view = ClusterOf(5, 2);
  view.nodes[1] = Held("c002", v1::ROLLOUT_STEP_RESUMING);
  EXPECT_THAT(Words(view), ElementsAre("take c001"));
  // A node that was taken a moment ago and is not drained yet counts all the same.
  view.nodes[2].step = v1::ROLLOUT_STEP_DRAINING;
  EXPECT_THAT(Words(view), IsEmpty());
}

TEST(Decide, NodesOutForOtherReasonsTakeUpRoom) {
  RolloutView view = ClusterOf(5, 2);
  view.nodes[3].is_available = view.nodes[3].is_connected = false;
  EXPECT_THAT(Words(view), ElementsAre("take c001"));
  view.nodes[4] = Ended("c005", v1::ROLLOUT_STEP_FAILED, kHour);
  view.limits.failure_budget = 1;
  EXPECT_THAT(Words(view), IsEmpty());
}

TEST(Decide, ANodeThatIsOutAlreadyCostsNothing) {
  RolloutView view = ClusterOf(5, 2);
  view.nodes[1] = DrainedByRoot("c002");
  view.nodes[3] = DrainedByRoot("c004");
  view.nodes[4] = DrainedByRoot("c005");
  EXPECT_THAT(Words(view), ElementsAre("take c002", "take c004")) << "but no more than two at once";
  view.limits.max_unavailable = 4;
  EXPECT_THAT(Words(view), ElementsAre("take c002", "take c004", "take c005", "take c001"));
}

TEST(Decide, KeepsToTheLimitOfARackAndOfASwitch) {
  RolloutView view = ClusterOf(6, 6);
  view.limits.max_per_rack = 1;
  view.limits.max_per_switch = 2;
  for (int i = 0; i < 6; ++i) {
    view.nodes[i].rack = i < 2 ? "r1" : i < 4 ? "r2" : "";
    view.nodes[i].switch_name = i < 5 ? "s1" : "";
  }
  // c001 is in r1, c003 is in r2, and with them the switch has its two; c006 is nowhere.
  EXPECT_THAT(Words(view), ElementsAre("take c001", "take c003", "take c006"));
  view.nodes[0].is_available = false;
  view.nodes[0].is_connected = false;
  EXPECT_THAT(Words(view), ElementsAre("take c003", "take c006"));
  // Out already: no cost, but the switch has only so many that are being updated at once.
  view.nodes[0].is_connected = true;
  view.nodes[1].is_available = view.nodes[2].is_available = false;
  EXPECT_THAT(Words(view), ElementsAre("take c001", "take c003", "take c006"));
}

TEST(Decide, OtherWorkersCountInTheRackAndBehindTheSwitch) {
  RolloutView view = ClusterOf(3, 3);
  view.limits.max_per_rack = 1;
  view.limits.max_per_switch = 2;
  view.nodes[0].rack = "r1";
  view.nodes[1].rack = view.nodes[2].rack = "r2";
  for (NodeView& node : view.nodes) node.switch_name = "s1";
  view.others_out = {{"g001", "r1", "s1"}};
  EXPECT_THAT(Words(view), ElementsAre("take c002"));
  EXPECT_THAT(ExplainNode(view, "c001"), ::testing::HasSubstr("g001"));
  view.others_out.push_back({"g002", "", "s1"});
  EXPECT_THAT(Words(view), IsEmpty());
  view.limits.max_per_rack = view.limits.max_per_switch = 0;
  view.limits.max_unavailable = 1;
  EXPECT_THAT(Words(view), ElementsAre("take c001")) << "they are no nodes of the rollout";
}

TEST(Decide, WhatPowerSavingHasIsNotOutOfService) {
  RolloutView view = ClusterOf(4, 1);
  for (const int i : {1, 2, 3}) {
    view.nodes[i].is_connected = view.nodes[i].is_available = false;
    view.nodes[i].is_power_saved = true;
  }
  EXPECT_THAT(Words(view), ElementsAre("take c001"));
  view.nodes[0].step = v1::ROLLOUT_STEP_APPLYING;
  EXPECT_THAT(Words(view), IsEmpty()) << "nobody can update them";
  // Nor does one that is powered down after its update tell against it.
  view = ClusterOf(2);
  view.state = v1::ROLLOUT_STATE_SOAKING;
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_DONE, kHour);
  view.nodes[0].is_connected = view.nodes[0].is_available = false;
  view.nodes[0].is_power_saved = true;
  EXPECT_THAT(Words(view), ElementsAre("soaked"));
}

TEST(Decide, OrderAmongNodes) {
  RolloutView view = ClusterOf(5, 2);
  view.nodes[0].jobs = {JobOf(absl::InfiniteDuration())};
  view.nodes[1].jobs = {JobOf(2 * kHour)};
  view.nodes[2].jobs = {JobOf(kHour)};
  view.nodes[3].passed_over = true;
  view.nodes[4].jobs = {JobOf(3 * kHour)};
  EXPECT_THAT(Words(view), ElementsAre("take c003", "take c002"));
  EXPECT_THAT(FirstReason(view), Said());
}

TEST(Decide, TheCanaryProvesSomething) {
  RolloutView view = ClusterOf(4, 3);
  view.limits.wave_sizes = {1, 4};
  view.nodes[0] = DrainedByRoot("c001");
  EXPECT_THAT(Words(view), ElementsAre("take c002"));
  // It waits for an available node rather than take another.
  view.limits.max_unavailable = 1;
  EXPECT_THAT(Words(view), IsEmpty());
  for (NodeView& node : view.nodes) node.is_available = false;
  EXPECT_THAT(Words(view), ElementsAre("take c001"));
  view = ClusterOf(4, 3);
  view.limits.wave_sizes = {4};
  view.nodes[2] = DrainedByRoot("c003");
  EXPECT_THAT(Words(view), ElementsAre("take c003", "take c001", "take c002")) << "no canary";
}

TEST(Decide, LeavesAloneWhatIsNotConnectedOrBusy) {
  RolloutView view = ClusterOf(3, 3);
  view.nodes[0].busy = "run r-1 of admin:ann";
  view.nodes[1].is_connected = view.nodes[1].is_available = false;
  EXPECT_THAT(Words(view), ElementsAre("take c003"));
  view.nodes[2] = Ended("c003", v1::ROLLOUT_STEP_DONE, kHour);
  EXPECT_THAT(Words(view), IsEmpty()) << "it waits for the other work";
}

TEST(Decide, NodesThatAreAwayAreLeftOutWhenNothingElseIsLeft) {
  RolloutView view = ClusterOf(4, 3);
  view.limits.wave_sizes = {1, 3, 4};
  view.wave = 1;
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_DONE, kHour);
  view.nodes[1] = Held("c002", v1::ROLLOUT_STEP_APPLYING);
  for (const int i : {2, 3}) view.nodes[i].is_connected = view.nodes[i].is_available = false;
  EXPECT_THAT(Words(view), IsEmpty()) << "they may come back while c002 is updated";
  view.nodes[1] = Ended("c002", v1::ROLLOUT_STEP_DONE, kHour);
  EXPECT_THAT(Words(view), ElementsAre("leave out c003", "leave out c004"));
  EXPECT_THAT(FirstReason(view), Said());
  view.nodes[3].away_since = view.now - absl::Minutes(1);
  EXPECT_THAT(Words(view), IsEmpty()) << "it may just be starting anew";
  view.nodes[3].away_since = view.now - absl::Hours(1);
  view.nodes[3].busy = "run r-1 of admin:ann";
  EXPECT_THAT(Words(view), IsEmpty()) << "that run may be rebooting it";
}

// They may be back when the window opens, or when Slurm answers.
TEST(Decide, NodesThatAreAwayAreLeftOutOnlyWhileNodesCouldBeTaken) {
  RolloutView view = ClusterOf(2, 2);
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_DONE, kHour);
  view.nodes[1].is_connected = view.nodes[1].is_available = false;
  view.slurm_trouble = "slurmctld is away";
  EXPECT_THAT(Words(view), IsEmpty());
  view.slurm_trouble.clear();
  view.limits.windows = {*ParseWindow("22:00-06:00")};
  EXPECT_THAT(Words(view), IsEmpty());
  view.now += absl::Hours(10);
  EXPECT_THAT(Words(view), ElementsAre("leave out c002"));
}

NodeView Login(std::string name) {
  NodeView node = InService(std::move(name));
  node.is_worker = false;
  return node;
}

TEST(Decide, LoginAndStorageNodesFollowTheWorkersOneByOne) {
  RolloutView view = ClusterOf(2, 2);
  view.limits.wave_sizes = {1, 2};
  view.nodes.push_back(Login("nas1"));
  view.nodes.push_back(Login("login1"));
  EXPECT_THAT(Words(view), ElementsAre("take c001")) << "the canary is a worker";
  EXPECT_THAT(ExplainNode(view, "login1"), Said());
  view.wave = 1;
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_DONE, kHour);
  view.nodes[1] = Held("c002", v1::ROLLOUT_STEP_RESUMING);
  EXPECT_THAT(Words(view), IsEmpty());
  // Nor do they wait for a worker that stays out of service, or wait in vain for one that is away.
  view.limits.max_unavailable = 1;
  view.limits.failure_budget = 1;
  view.nodes[1] = Ended("c002", v1::ROLLOUT_STEP_FAILED, kHour);
  EXPECT_THAT(Words(view), ElementsAre("take nas1"));
  view.nodes[2].step = v1::ROLLOUT_STEP_APPLYING;
  EXPECT_THAT(Words(view), IsEmpty());
  view.nodes[2].step = v1::ROLLOUT_STEP_DONE;
  EXPECT_THAT(Words(view), ElementsAre("take login1"));
  view.nodes[3].step = v1::ROLLOUT_STEP_DONE;
  EXPECT_THAT(Words(view), ElementsAre("complete"));
}

TEST(Decide, AWorkerThatIsAwayKeepsNoLoginNodeWaiting) {
  RolloutView view = ClusterOf(1);
  view.nodes[0].is_connected = view.nodes[0].is_available = false;
  view.nodes.push_back(Login("login1"));
  EXPECT_THAT(Words(view), ElementsAre("leave out c001"));
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_SKIPPED, kHour);
  EXPECT_THAT(Words(view), ElementsAre("take login1"));
  view.nodes[1].is_connected = view.nodes[1].is_available = false;
  EXPECT_THAT(Words(view), ElementsAre("leave out login1"));
}

TEST(Decide, ALoginNodeThatIsDownTakesUpNoRoom) {
  RolloutView view = ClusterOf(2, 1);
  view.nodes.push_back(Login("login1"));
  view.nodes[2].is_connected = view.nodes[2].is_available = false;
  EXPECT_THAT(Words(view), ElementsAre("take c001"));
}

TEST(ForecastOrder, EndsWithLoginAndStorageNodes) {
  RolloutView view = ClusterOf(3);
  view.limits.wave_sizes = {1, 3};
  view.nodes.insert(view.nodes.begin(), Login("login1"));
  std::vector<std::string> order;
  for (const Place& place : ForecastOrder(view))
    order.push_back(absl::StrCat(place.node, " ", place.wave));
  EXPECT_THAT(order, ElementsAre("c001 0", "c002 1", "c003 1", "login1 1"));
}

TEST(Decide, ARemovedNodeIsLeftOutAndFreesItsSlot) {
  RolloutView view = ClusterOf(4);
  view.nodes[0] = Held("c001", v1::ROLLOUT_STEP_DRAINING);
  view.nodes[0].jobs = {JobOf(kHour)};
  view.nodes[1] = Ended("c002", v1::ROLLOUT_STEP_SKIPPED, kHour);
  view.nodes[2].is_connected = view.nodes[2].is_available = false;
  for (const int i : {0, 1, 2}) view.nodes[i].is_removed = true;
  EXPECT_THAT(Words(view), ElementsAre("leave out c001", "leave out c003", "take c004"));
  view.slurm_trouble = "slurmctld is away";
  EXPECT_THAT(Words(view), ElementsAre("leave out c001", "leave out c003"));
  EXPECT_THAT(FirstReason(view), Said());
  view.state = v1::ROLLOUT_STATE_PAUSED;
  EXPECT_THAT(Words(view), ElementsAre("leave out c001", "leave out c003"));
  // Nor does one that was updated tell against the update.
  view = ClusterOf(2);
  view.state = v1::ROLLOUT_STATE_SOAKING;
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_DONE, kHour);
  view.nodes[0].is_available = false;
  view.nodes[0].is_removed = true;
  EXPECT_THAT(Words(view), ElementsAre("soaked"));
}

TEST(Decide, OnlyInsideAWindow) {
  RolloutView view = ClusterOf(3, 2);
  view.limits.windows = {*ParseWindow("22:00-06:00")};
  view.nodes[0] = Held("c001", v1::ROLLOUT_STEP_DRAINING);
  EXPECT_THAT(Words(view), ElementsAre("idle c001")) << "what is taken goes on";
  view.now += absl::Hours(10);
  EXPECT_THAT(Words(view), ElementsAre("idle c001", "take c002"));
}

TEST(Decide, NothingThatNeedsSlurmWhileItDoesNotAnswer) {
  RolloutView view = ClusterOf(3, 2);
  view.nodes[0] = Held("c001", v1::ROLLOUT_STEP_DRAINING);
  view.limits.drain_timeout = absl::ZeroDuration();
  view.limits.passes_over = true;
  view.slurm_trouble = "slurmctld is away";
  EXPECT_THAT(Words(view), IsEmpty());
  view.slurm_trouble.clear();
  EXPECT_THAT(Words(view), ElementsAre("idle c001", "take c002"));
}

TEST(Decide, IdleIsConnectedDrainedAndWithoutJobs) {
  RolloutView view = ClusterOf(1);
  view.nodes[0] = Held("c001", v1::ROLLOUT_STEP_DRAINING);
  EXPECT_THAT(Words(view), ElementsAre("idle c001"));
  view.nodes[0].jobs = {JobOf(kHour)};
  EXPECT_THAT(Words(view), IsEmpty());
  view.nodes[0].jobs.clear();
  view.nodes[0].is_drained = false;
  EXPECT_THAT(Words(view), IsEmpty());
  view.nodes[0].is_drained = true;
  view.nodes[0].is_connected = false;
  view.nodes[0].away_since = view.now;
  EXPECT_THAT(Words(view), IsEmpty());
}

TEST(Decide, PassesOverOnceThenLeavesOut) {
  RolloutView view = ClusterOf(2);
  view.limits.drain_timeout = kHour;
  view.nodes[0] = Held("c001", v1::ROLLOUT_STEP_DRAINING);
  view.nodes[0].jobs = {JobOf(absl::InfiniteDuration())};
  view.nodes[0].since = view.now - kHour - absl::Seconds(1);
  EXPECT_THAT(Words(view), IsEmpty()) << "it is waited for unless the limits say otherwise";
  view.limits.passes_over = true;
  EXPECT_THAT(Words(view), ElementsAre("pass over c001"));
  EXPECT_THAT(FirstReason(view), Said());
  view.nodes[0].passed_over = true;
  EXPECT_THAT(Words(view), ElementsAre("leave out c001"));
  EXPECT_THAT(FirstReason(view), Said());
  view.nodes[0].since = view.now - kHour;
  EXPECT_THAT(Words(view), IsEmpty()) << "no longer than the time";
}

TEST(Decide, RequeuesOnlyIfAskedAfterTheTimeAndWhereNoJobCanStart) {
  RolloutView view = ClusterOf(2);
  view.limits.drain_timeout = kHour;
  view.nodes[0] = Held("c001", v1::ROLLOUT_STEP_DRAINING);
  view.nodes[0].jobs = {JobOf(absl::InfiniteDuration())};
  view.nodes[0].since = view.now - kHour - absl::Seconds(1);
  EXPECT_THAT(Words(view), IsEmpty()) << "never by default";
  view.limits.requeues = true;
  EXPECT_THAT(Words(view), ElementsAre("requeue c001"));
  EXPECT_THAT(FirstReason(view), Said());
  view.state = v1::ROLLOUT_STATE_PAUSED;
  EXPECT_THAT(Words(view), ElementsAre("requeue c001")) << "what is taken goes on";
  view.state = v1::ROLLOUT_STATE_ABORTING;
  EXPECT_THAT(Words(view), ElementsAre("leave out c001", "leave out c002", "settle"));
  view.state = v1::ROLLOUT_STATE_ROLLING;
  view.nodes[0].is_drained = false;
  EXPECT_THAT(Words(view), IsEmpty());
  view.nodes[0].is_drained = true;
  view.nodes[0].is_connected = false;
  view.nodes[0].away_since = view.now;
  EXPECT_THAT(Words(view), IsEmpty());
  view.nodes[0].is_connected = true;
  view.slurm_trouble = "slurmctld is away";
  EXPECT_THAT(Words(view), IsEmpty());
  view.slurm_trouble.clear();
  view.nodes[0].since = view.now - kHour;
  EXPECT_THAT(Words(view), IsEmpty()) << "no longer than the time";
}

TEST(Decide, ANodeWhoseJobsAreRequeuedWaitsForTheOthers) {
  RolloutView view = ClusterOf(2);
  view.limits.drain_timeout = kHour;
  view.limits.requeues = true;
  view.nodes[0] = Held("c001", v1::ROLLOUT_STEP_REQUEUING);
  view.nodes[0].jobs = {JobOf(absl::InfiniteDuration())};
  view.nodes[0].since = view.now - 3 * kHour;
  EXPECT_THAT(Words(view), IsEmpty()) << "it keeps its slot, and nothing else happens to it";
  view.nodes[0].is_connected = false;
  EXPECT_THAT(Words(view), ElementsAre("pass over c001"));
  view.nodes[0].is_connected = true;
  view.nodes[0].jobs.clear();
  EXPECT_THAT(Words(view), ElementsAre("idle c001"));
  view.nodes[0].is_drained = false;
  EXPECT_THAT(Words(view), IsEmpty());
  view.nodes[0].is_removed = true;
  EXPECT_THAT(Words(view), ElementsAre("leave out c001", "take c002"));
}

TEST(Decide, ANodeThatGoesAwayWhileItDrainsGivesItsSlotUp) {
  RolloutView view = ClusterOf(2);
  view.nodes[0] = Held("c001", v1::ROLLOUT_STEP_DRAINING);
  view.nodes[0].is_connected = false;
  EXPECT_THAT(Words(view), ElementsAre("pass over c001"));
  EXPECT_THAT(FirstReason(view), Said());
  view.nodes[0].away_since = view.now - kAwayGrace;
  EXPECT_THAT(Words(view), IsEmpty());
  view.nodes[0].away_since = absl::InfinitePast();
  view.nodes[0].since = view.now - kAwayGrace;
  EXPECT_THAT(Words(view), IsEmpty());
}

TEST(Decide, MoreFailuresThanTheBudgetPause) {
  RolloutView view = ClusterOf(6, 6);
  view.limits.failure_budget = 1;
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_FAILED, 3 * kHour);
  view.nodes[1] = Ended("c002", v1::ROLLOUT_STEP_DONE, 2 * kHour);
  view.nodes[2] = Held("c003", v1::ROLLOUT_STEP_DRAINING);
  EXPECT_THAT(Words(view), ::testing::Contains("idle c003"));
  view.nodes[3] = Ended("c004", v1::ROLLOUT_STEP_QUARANTINED, kHour);
  EXPECT_THAT(Words(view), ElementsAre("pause"));
  EXPECT_THAT(FirstReason(view), Said());
  view.limits.rolls_back = true;
  EXPECT_THAT(Words(view), ElementsAre("roll back"));
  view.forgiven.failed = 1;
  EXPECT_THAT(Words(view), ::testing::Contains("idle c003"));
  view.limits.failure_budget = 0;
  EXPECT_THAT(Words(view), ElementsAre("roll back"));
  view.forgiven.failed = 2;
  EXPECT_THAT(Words(view), ::testing::Contains("idle c003"));
}

TEST(Decide, ThreeFailuresInARowPauseWithinTheBudget) {
  RolloutView view = ClusterOf(6, 6);
  view.limits.failure_budget = 5;
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_FAILED, 4 * kHour);
  view.nodes[1] = Ended("c002", v1::ROLLOUT_STEP_FAILED, kHour);
  view.nodes[2] = Ended("c003", v1::ROLLOUT_STEP_QUARANTINED, 2 * kHour);
  view.nodes[3] = Ended("c004", v1::ROLLOUT_STEP_DONE, 3 * kHour);
  EXPECT_THAT(Words(view), ::testing::Contains("take c005")) << "c004 was between them";
  view.nodes[3].since = view.now - 5 * kHour;
  EXPECT_THAT(Words(view), ElementsAre("pause"));
  EXPECT_THAT(FirstReason(view), Said());
  view.nodes[3].since = view.now;
  EXPECT_THAT(Words(view), ::testing::Contains("take c005")) << "it is over";
  view.nodes[3].since = view.now - 5 * kHour;
  view.nodes[4] = Ended("c005", v1::ROLLOUT_STEP_SKIPPED, absl::Minutes(90));
  EXPECT_THAT(Words(view), ElementsAre("pause")) << "a skipped node proves nothing";
  view.forgiven.failed = 1;
  EXPECT_THAT(Words(view), ::testing::Contains("take c006")) << "two are left";
}

TEST(Decide, WavesOneAfterTheOther) {
  RolloutView view = ClusterOf(4, 3);
  view.limits.wave_sizes = {1, 3, 4};
  EXPECT_THAT(Words(view), ElementsAre("take c001"));
  view.nodes[0] = Held("c001", v1::ROLLOUT_STEP_VALIDATING);
  EXPECT_THAT(Words(view), IsEmpty());
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_DONE, absl::ZeroDuration());
  EXPECT_THAT(Words(view), ElementsAre("wave done"));
  view.wave = 1;
  EXPECT_THAT(Words(view), ElementsAre("take c002", "take c003"));
  view.nodes[1] = Held("c002", v1::ROLLOUT_STEP_APPLYING);
  EXPECT_THAT(Words(view), ElementsAre("take c003"));
  // Others take the places of those that are left out.
  view.nodes[1] = Ended("c002", v1::ROLLOUT_STEP_SKIPPED, absl::ZeroDuration());
  EXPECT_THAT(Words(view), ElementsAre("take c003", "take c004"));
  view.wave = 2;
  for (const int i : {2, 3}) {
    view.nodes[i] = Ended(view.nodes[i].name, v1::ROLLOUT_STEP_DONE, absl::ZeroDuration());
  }
  EXPECT_THAT(Words(view), ElementsAre("complete"));
}

TEST(Decide, ASoakEndsWithALookAtWhatWasUpdated) {
  RolloutView view = ClusterOf(4);
  view.state = v1::ROLLOUT_STATE_SOAKING;
  view.limits.wave_sizes = {2, 4};
  view.limits.soak = absl::Minutes(30);
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_DONE, kHour);
  view.nodes[1] = Ended("c002", v1::ROLLOUT_STEP_DONE, kHour);
  view.wave_since = view.now - absl::Minutes(29);
  EXPECT_THAT(Words(view), IsEmpty());
  view.wave_since = view.now - absl::Minutes(30);
  EXPECT_THAT(Words(view), ElementsAre("soaked"));
  view.slurm_trouble = "slurmctld is away";
  EXPECT_THAT(Words(view), IsEmpty()) << "nobody knows whether they are in service";
  view.slurm_trouble.clear();
  view.nodes[1].is_available = false;
  view.nodes[1].service = "in service, but DOWN*";
  EXPECT_THAT(Words(view), ElementsAre("pause"));
  EXPECT_THAT(FirstReason(view), Said());
  view.limits.rolls_back = true;
  EXPECT_THAT(Words(view), ElementsAre("roll back"));
  // Whoever resumes the rollout forgives it.
  view.forgiven = FailuresToForgive(view);
  EXPECT_EQ(view.forgiven.failed, 0u);
  EXPECT_EQ(view.forgiven.out, 1u);
  EXPECT_THAT(Words(view), ElementsAre("soaked"));
  view.nodes[0].is_available = false;
  EXPECT_THAT(Words(view), ElementsAre("roll back"));
  // One that was out before proves nothing.
  view.forgiven = {};
  view.nodes[0].was_available = view.nodes[1].was_available = false;
  EXPECT_THAT(Words(view), ElementsAre("soaked"));
}

TEST(Decide, NodesThatWentOutAreForgivenApartFromFailures) {
  RolloutView view = ClusterOf(6, 6);
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_FAILED, kHour);
  for (const int i : {1, 2}) {
    view.nodes[i] = Ended(view.nodes[i].name, v1::ROLLOUT_STEP_DONE, kHour);
    view.nodes[i].is_available = false;
  }
  view.forgiven = FailuresToForgive(view);
  EXPECT_EQ(view.forgiven.failed, 1u);
  EXPECT_EQ(view.forgiven.out, 2u);
  EXPECT_THAT(Words(view), ::testing::Contains("take c004"));
  view.nodes[3] = Ended("c004", v1::ROLLOUT_STEP_FAILED, absl::ZeroDuration());
  EXPECT_THAT(Words(view), ElementsAre("pause")) << "nobody has forgiven another failure";
  // Nor does a failure use up what was forgiven of the others.
  view.state = v1::ROLLOUT_STATE_SOAKING;
  EXPECT_THAT(Words(view), ElementsAre("soaked"));
}

TEST(Decide, ASoakWaitsForOtherWorkAndLeavesPersonsDrainsAlone) {
  RolloutView view = ClusterOf(3);
  view.state = v1::ROLLOUT_STATE_SOAKING;
  view.limits.wave_sizes = {2, 3};
  view.limits.rolls_back = true;
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_DONE, kHour);
  view.nodes[1] = Ended("c002", v1::ROLLOUT_STEP_DONE, kHour);
  view.nodes[0].is_available = false;
  view.nodes[0].is_worked_on = true;
  EXPECT_THAT(Words(view), IsEmpty());
  EXPECT_EQ(FailuresToForgive(view).out, 0u);
  view.nodes[0].is_worked_on = false;
  view.nodes[0].is_persons = true;
  EXPECT_THAT(Words(view), ElementsAre("soaked"));
  EXPECT_EQ(FailuresToForgive(view).out, 0u);
  view.nodes[1].is_available = false;
  EXPECT_THAT(Words(view), ElementsAre("roll back"));
}

TEST(Decide, ASoakWaitsForAConnectionThatBrokeAMomentAgo) {
  RolloutView view = ClusterOf(2);
  view.state = v1::ROLLOUT_STATE_SOAKING;
  view.limits.wave_sizes = {1, 2};
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_DONE, kHour);
  view.nodes[0].is_connected = view.nodes[0].is_available = false;
  view.nodes[0].away_since = view.now - absl::Minutes(1);
  EXPECT_THAT(Words(view), IsEmpty());
  view.nodes[0].away_since = view.now - absl::Hours(1);
  EXPECT_THAT(Words(view), ElementsAre("pause"));
}

TEST(Decide, APausedRolloutFinishesWhatIsActiveAndNothingElse) {
  RolloutView view = ClusterOf(4, 4);
  view.state = v1::ROLLOUT_STATE_PAUSED;
  view.limits.drain_timeout = absl::ZeroDuration();
  view.limits.passes_over = true;
  view.nodes[0] = Held("c001", v1::ROLLOUT_STEP_DRAINING);
  view.nodes[1] = Held("c002", v1::ROLLOUT_STEP_DRAINING);
  view.nodes[1].jobs = {JobOf(kHour)};
  view.nodes[2] = Ended("c003", v1::ROLLOUT_STEP_FAILED, kHour);
  EXPECT_THAT(Words(view), ElementsAre("idle c001", "pass over c002"));
  for (NodeView& node : view.nodes) node.step = v1::ROLLOUT_STEP_DONE;
  EXPECT_THAT(Words(view), IsEmpty());
}

TEST(Decide, TheFailureOfTheLastNodeCompletesOrRollsBack) {
  RolloutView view = ClusterOf(2);
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_DONE, kHour);
  view.nodes[1] = Ended("c002", v1::ROLLOUT_STEP_FAILED, kHour);
  EXPECT_THAT(Words(view), ElementsAre("complete"));
  EXPECT_THAT(FirstReason(view), Said());
  view.limits.rolls_back = true;
  EXPECT_THAT(Words(view), ElementsAre("roll back"));
}

TEST(Decide, ARolloutThatUpdatedNoNodeSaysSo) {
  RolloutView view = ClusterOf(2);
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_DONE, kHour);
  view.nodes[1] = Ended("c002", v1::ROLLOUT_STEP_SKIPPED, kHour);
  EXPECT_THAT(Words(view), ElementsAre("complete"));
  EXPECT_EQ(FirstReason(view), "");
  view.nodes[0].step = v1::ROLLOUT_STEP_SKIPPED;
  EXPECT_THAT(Words(view), ElementsAre("complete"));
  EXPECT_THAT(FirstReason(view), Said());
}

TEST(Decide, AbortingAndRollingBackLeaveOutWhatIsNotBeingUpdated) {
  RolloutView view = ClusterOf(5, 5);
  view.nodes[0] = Held("c001", v1::ROLLOUT_STEP_DRAINING);
  view.nodes[1] = Held("c002", v1::ROLLOUT_STEP_APPLYING);
  view.nodes[2] = Ended("c003", v1::ROLLOUT_STEP_DONE, kHour);
  view.nodes[3] = Ended("c004", v1::ROLLOUT_STEP_FAILED, kHour);
  for (const auto state : {v1::ROLLOUT_STATE_ABORTING, v1::ROLLOUT_STATE_ROLLING_BACK}) {
    view.state = state;
    view.slurm_trouble = "slurmctld is away";
    view.nodes[1].step = v1::ROLLOUT_STEP_APPLYING;
    EXPECT_THAT(Words(view), ElementsAre("leave out c001", "leave out c005"));
    EXPECT_THAT(FirstReason(view), Said());
    view.nodes[1].step = v1::ROLLOUT_STEP_DONE;
    EXPECT_THAT(Words(view), ElementsAre("leave out c001", "leave out c005", "settle"));
  }
}

TEST(Decide, AnAbortWaitsForNoRunThatHasNotBegun) {
  RolloutView view = ClusterOf(2, 2);
  view.nodes[0] = Held("c001", v1::ROLLOUT_STEP_APPLYING);
  view.nodes[0].waits_for_run = true;
  view.nodes[1] = Held("c002", v1::ROLLOUT_STEP_VALIDATING);
  for (const auto state : {v1::ROLLOUT_STATE_ROLLING, v1::ROLLOUT_STATE_PAUSED}) {
    view.state = state;
    EXPECT_THAT(Words(view), IsEmpty()) << StateName(state);
  }
  for (const auto state : {v1::ROLLOUT_STATE_ABORTING, v1::ROLLOUT_STATE_ROLLING_BACK}) {
    view.state = state;
    view.nodes[1].step = v1::ROLLOUT_STEP_VALIDATING;
    EXPECT_THAT(Words(view), ElementsAre("leave out c001")) << StateName(state);
    view.nodes[1].step = v1::ROLLOUT_STEP_DONE;
    EXPECT_THAT(Words(view), ElementsAre("leave out c001", "settle")) << StateName(state);
  }
}

TEST(Decide, WithoutAMandateNodesGoBackAndNoneIsTaken) {
  RolloutView view = ClusterOf(5, 5);
  view.no_mandate = "the certificate of admin:ann was revoked";
  view.nodes[0] = Held("c001", v1::ROLLOUT_STEP_DRAINING);
  view.nodes[1] = Held("c002", v1::ROLLOUT_STEP_REQUEUING);
  view.nodes[1].passed_over = true;
  view.nodes[2] = Held("c003", v1::ROLLOUT_STEP_APPLYING);
  EXPECT_THAT(Words(view), ElementsAre("give back c001", "give back c002", "pause"));
  EXPECT_EQ(FirstReason(view), view.no_mandate);
  view.state = v1::ROLLOUT_STATE_PAUSED;
  EXPECT_THAT(Words(view), ElementsAre("give back c001", "give back c002"));
  view.state = v1::ROLLOUT_STATE_ABORTING;
  EXPECT_THAT(Words(view),
              ElementsAre("leave out c001", "leave out c002", "leave out c004", "leave out c005"));
  // There is nothing to pause when all are taken, or over.
  view.state = v1::ROLLOUT_STATE_ROLLING;
  for (NodeView& node : view.nodes) node.step = v1::ROLLOUT_STEP_DONE;
  view.nodes[2] = Held("c003", v1::ROLLOUT_STEP_APPLYING);
  EXPECT_THAT(Words(view), IsEmpty());
  view.nodes[2].waits_for_run = true;
  EXPECT_THAT(Words(view), ElementsAre("pause"));
  view.nodes[2] = Held("c003", v1::ROLLOUT_STEP_VALIDATING);
  EXPECT_THAT(Words(view), IsEmpty());
  view.nodes[2].waits_for_suite = true;
  EXPECT_THAT(Words(view), ElementsAre("pause"));
  view.nodes[2] = Ended("c003", v1::ROLLOUT_STEP_DONE, kHour);
  EXPECT_THAT(Words(view), ElementsAre("complete"));
}

TEST(Decide, NothingOnceTheRolloutHasEnded) {
  for (const auto state : {v1::ROLLOUT_STATE_COMPLETED, v1::ROLLOUT_STATE_ABORTED,
                           v1::ROLLOUT_STATE_ROLLED_BACK, v1::ROLLOUT_STATE_UNSPECIFIED}) {
    RolloutView view = ClusterOf(3);
    view.state = state;
    EXPECT_THAT(Words(view), IsEmpty()) << StateName(state);
  }
}

}  // namespace
}  // namespace muster::controller::rollout
