#include "cli/render/rollout/rollout_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/context.h"
#include "cli/render/rollout/rollout_words.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/cli/render/rollout/sample_rollout.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kRolloutNow = kRolloutStart + absl::Minutes(72);

TEST(RolloutReport, FoldsNodesInTheSameStepAndNamesWhatToLookAt) {
  EXPECT_THAT(RenderRollout(SampleRollout(), kRolloutNow), Said());
}

TEST(RolloutReport, SaysWhyItPausedAndHowItContinues) {
  v1::Rollout rollout = SampleRollout();
  rollout.set_state(v1::ROLLOUT_STATE_PAUSED);
  rollout.set_message("2 nodes have failed");
  SetStep(rollout, 4, v1::ROLLOUT_STEP_FAILED, 40, "munge: shared key").set_run_id("r-33333333");
  EXPECT_THAT(RenderRollout(rollout, kRolloutNow), Said());
  rollout.clear_previous_bundle_sha256();
  EXPECT_THAT(NextCommands(rollout), Not(HasSubstr("rollback")));
}

TEST(RolloutReport, NamesTheNodesThatHaveToReboot) {
  v1::Rollout rollout = SampleRollout();
  rollout.mutable_request()->set_reboots(v1::REBOOT_MODE_NEVER);
  rollout.mutable_nodes(0)->set_reboot_pending(
      "kernel 6.1.0-20 is installed but 6.1.0-18 is running");
  EXPECT_THAT(RenderRollout(rollout, kRolloutNow),
              AllOf(HasSubstr("reboots     none: nodes that have to are noted"),
                    HasSubstr(": kernel 6.1.0-20 is installed but 6.1.0-18 is running\n")));
  rollout.mutable_request()->set_reboots(v1::REBOOT_MODE_ALWAYS);
  EXPECT_THAT(RenderRollout(rollout, kRolloutNow), HasSubstr("reboots     each node once"));
}

TEST(RolloutReport, NamesTheStackAndTheWayBackFromIt) {
  v1::Rollout rollout = SampleRollout();
  rollout.mutable_request()->set_stack("debian13");
  rollout.mutable_request()->set_revision_before(12);
  EXPECT_THAT(RenderRollout(rollout, kRolloutNow),
              AllOf(HasSubstr("stack       debian13\n"),
                    HasSubstr("each node to the stack that revision 12 of the inventory gave it")));
}

TEST(RolloutReport, OneThatWasRolledBackNamesTheOther) {
  v1::Rollout rollout = SampleRollout();
  rollout.set_state(v1::ROLLOUT_STATE_ROLLED_BACK);
  rollout.set_rolled_back_by("u-aaaaaaaa");
  *rollout.mutable_finished_at() = ToTimestamp(kRolloutStart + absl::Hours(1));
  EXPECT_THAT(RenderRollout(rollout, kRolloutNow),
              AllOf(HasSubstr("muster rollout watch u-aaaaaaaa"), HasSubstr("took 1h 00m")));
}

TEST(RolloutReport, ListsRollouts) {
  v1::ListRolloutsResponse response;
  *response.add_rollouts() = SampleRollout();
  v1::Rollout& old = *response.add_rollouts();
  old = SampleRollout();
  old.set_rollout_id("u-aaaaaaaa");
  old.set_state(v1::ROLLOUT_STATE_ABORTED);
  *old.mutable_finished_at() = ToTimestamp(kRolloutStart + absl::Hours(1));
  EXPECT_THAT(RenderRollouts(response, kRolloutNow), Said());
}

TEST(RolloutReport, TellsTheEventsOfNodesAndOfTheWhole) {
  v1::Rollout rollout = SampleRollout();
  AddState(rollout, 40, v1::ROLLOUT_STATE_PAUSED, 1, "2 nodes have failed");
  EXPECT_THAT(RenderTimeline(rollout, absl::UTCTimeZone()), Said());
  EXPECT_EQ(RenderRolloutEvent(rollout.request(), rollout.events(6)),
            "c002: draining: waits for job 4711 (ann, train)\n");
  EXPECT_EQ(RenderRolloutEvent(rollout.request(), rollout.events(0)), "canary: rolling\n");
  EXPECT_EQ(RenderRolloutEvent(rollout.request(), rollout.events(9)),
            "paused: 2 nodes have failed\n");
}

// The name of a job is its user's choice.
TEST(RolloutReport, AMessageNeverControlsTheTerminalNorBreaksTheLine) {
  v1::Rollout rollout = SampleRollout();
  rollout.mutable_events(6)->set_message("waits for job 1 (eve, \x1b[2Jx\nc009: done)");
  EXPECT_EQ(RenderRolloutEvent(rollout.request(), rollout.events(6)),
            "c002: draining: waits for job 1 (eve, x c009: done)\n");
  rollout.mutable_nodes(3)->set_message("\x1b[31mred\nline");
  EXPECT_THAT(RenderRollout(rollout, kRolloutNow), Not(HasSubstr("\x1b")));
  EXPECT_THAT(RenderRollout(rollout, kRolloutNow), HasSubstr("red line"));
}

TEST(RolloutReport, CountsTheNodesOfEachWave) {
  v1::Rollout rollout = SampleRollout();
  EXPECT_EQ(WaveProgress(rollout), "canary: 1 of 1, wave 1: 1 of 3, wave 2: 0 of 2");
  rollout.mutable_request()->set_canary(0);
  EXPECT_EQ(WaveProgress(rollout), "first wave: 1 of 1, wave 1: 1 of 3, wave 2: 0 of 2");
}

TEST(RolloutReport, AChangeSaysWhatIsStillGoingOn) {
  v1::Rollout rollout = SampleRollout();
  rollout.set_state(v1::ROLLOUT_STATE_PAUSED);
  rollout.set_message("by admin:ann");
  EXPECT_THAT(RenderChange(rollout), Said());
}

TEST(RolloutReport, ExplainsANode) {
  v1::ExplainRolloutNodeResponse response;
  response.set_rollout_id("u-7k3m9q2x");
  *response.mutable_node() = SampleRollout().nodes(1);
  response.set_explanation(
      "waits for job 4711 (ann, \x1b[2Jtrain), which ends in at most 3 h 10 min");
  EXPECT_EQ(RenderExplanation(response, kRolloutNow),
            "c002 in rollout u-7k3m9q2x: draining, for 1h 00m\n"
            "    waits for job 4711 (ann, train), which ends in at most 3 h 10 min\n");
}

TEST(RolloutReport, OnlyACompletedRolloutWithEveryNodeDoneIsClean) {
  v1::Rollout rollout = SampleRollout();
  for (int place = 0; place < rollout.nodes_size(); ++place)
    SetStep(rollout, place, v1::ROLLOUT_STEP_DONE, 50);
  EXPECT_EQ(RolloutExitCode(rollout), kExitFailed);  // it is rolling
  rollout.set_state(v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(RolloutExitCode(rollout), kExitClean);
  for (const auto step : {v1::ROLLOUT_STEP_SKIPPED, v1::ROLLOUT_STEP_FAILED,
                          v1::ROLLOUT_STEP_QUARANTINED, v1::ROLLOUT_STEP_PENDING}) {
    SetStep(rollout, 2, step, 50);
    EXPECT_EQ(RolloutExitCode(rollout), kExitFailed) << StepWord(step);
  }
  SetStep(rollout, 2, v1::ROLLOUT_STEP_DONE, 50);
  for (const auto state : {v1::ROLLOUT_STATE_ABORTED, v1::ROLLOUT_STATE_ROLLED_BACK}) {
    rollout.set_state(state);
    EXPECT_EQ(RolloutExitCode(rollout), kExitFailed) << StateWord(state);
  }
}

// A value that the contract gains needs a word and a place in the tables.
TEST(RolloutWords, EveryStepAndStateHasAWord) {
  for (int step = v1::RolloutStep_MIN + 1; step <= v1::RolloutStep_MAX; ++step)
    EXPECT_NE(StepWord(static_cast<v1::RolloutStep>(step)), "?") << step;
  for (int state = v1::RolloutState_MIN + 1; state <= v1::RolloutState_MAX; ++state)
    EXPECT_NE(StateWord(static_cast<v1::RolloutState>(state)), "?") << state;
}

TEST(RolloutWords, BudgetsAndDrainLimitsReadAsSentences) {
  v1::Rollout rollout = SampleRollout();
  v1::CreateRolloutRequest& request = *rollout.mutable_request();
  EXPECT_THAT(DescribeBudgets(rollout), Said());
  EXPECT_THAT(DescribeDrainLimit(request), Said());
  request.set_max_per_rack(1);
  request.set_max_per_switch(2);
  request.set_failure_budget(3);
  request.set_on_failure(v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK);
  *request.mutable_drain_timeout() = ToProtoDuration(absl::Hours(4));
  EXPECT_THAT(DescribeBudgets(rollout), Said());
  EXPECT_THAT(DescribeDrainLimit(request), Said());
  request.set_on_timeout(v1::DRAIN_TIMEOUT_ACTION_SKIP);
  EXPECT_THAT(DescribeDrainLimit(request), Said());
  request.set_on_timeout(v1::DRAIN_TIMEOUT_ACTION_REQUEUE);
  EXPECT_THAT(DescribeDrainLimit(request), Said());
}

}  // namespace
}  // namespace muster::cli
