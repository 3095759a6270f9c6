#include "cli/render/run/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/context.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

v1::Run RunOf(std::initializer_list<const char*> nodes) {
  v1::Run run;
  run.set_run_id("r-1");
  run.mutable_created_at()->set_seconds(absl::ToUnixSeconds(kStart));
  run.add_plays("workers");
  run.set_state(v1::RUN_STATE_RUNNING);
  for (const char* node : nodes) run.add_nodes()->set_node(node);
  return run;
}

v1::RunEvent Step(const char* node, uint64_t sequence, v1::StepStatus status) {
  v1::RunEvent event;
  event.set_node(node);
  event.set_sequence(sequence);
  event.mutable_step()->set_role("munge");
  event.mutable_step()->set_name("shared key");
  event.mutable_step()->set_status(status);
  return event;
}

v1::RunEvent Finished(v1::RunState state, std::initializer_list<v1::NodeRecap> recaps) {
  v1::RunEvent event;
  event.set_sequence(1000);
  v1::Run& run = *event.mutable_run_finished();
  run.set_run_id("r-1");
  run.set_state(state);
  for (const v1::NodeRecap& recap : recaps) *run.add_nodes() = recap;
  return event;
}

v1::NodeRecap Recap(const char* node, const char* state, uint32_t changed, uint32_t failed) {
  v1::NodeRecap recap;
  recap.set_node(node);
  recap.set_state(state);
  recap.set_ok(3);
  recap.set_changed(changed);
  recap.set_failed(failed);
  recap.set_unreachable(recap.state() == "unreachable");
  return recap;
}

TEST(RunReport, ARunThatEndedTookAsLongAsItTook) {
  v1::Run run = RunOf({"c001"});
  RunView view(run, kStart);
  v1::RunEvent end = Finished(v1::RUN_STATE_SUCCEEDED, {Recap("c001", "done", 2, 0)});
  end.mutable_run_finished()->mutable_finished_at()->set_seconds(absl::ToUnixSeconds(kStart) + 40);
  view.Apply(end, kStart + absl::Hours(70));
  EXPECT_THAT(RenderRecap(view, kStart + absl::Hours(70)), HasSubstr("run r-1 in 40s\n"));
}

TEST(RunReport, ACheckSaysWhatWouldChange) {
  v1::Run run = RunOf({"c001"});
  run.set_check_only(true);
  RunView view(run, kStart);
  view.Apply(Finished(v1::RUN_STATE_SUCCEEDED, {Recap("c001", "done", 2, 0)}), kStart);
  EXPECT_THAT(RenderRecap(view, kStart), HasSubstr("c001   ok=3    would change=2    failed=0"));
  EXPECT_EQ(RenderEventLine(Step("c001", 1, v1::STEP_STATUS_CHANGED), {.check_only = true}),
            "c001: would change munge: shared key\n");
}

TEST(RunReport, OneMistakeOnManyNodesIsToldOnce) {
  RunView view(RunOf({"c001", "c002", "c003"}), kStart);
  for (const char* name : {"c001", "c002"}) {
    v1::RunEvent event;
    *event.mutable_node_finished() = Recap(name, "failed", 0, 0);
    event.mutable_node_finished()->set_message("undefined \033[31mvariable");
    view.Apply(event, kStart);
    EXPECT_THAT(RenderEventLine(event, {}), HasSubstr("undefined variable"));
  }
  const std::string recap = RenderRecap(view, kStart);
  EXPECT_THAT(recap, HasSubstr("\nc[001-002]:\n    undefined variable\n"));
}

TEST(RunReport, FailureOfAStepIsNotToldAgainAtTheNodesEnd) {
  RunView view(RunOf({"c001"}), kStart);
  EXPECT_FALSE(view.nodes().at("c001").failed_step);
  view.Apply(Step("c001", 1, v1::STEP_STATUS_FAILED), kStart);
  EXPECT_TRUE(view.nodes().at("c001").failed_step);
  v1::RunEvent end;
  *end.mutable_node_finished() = Recap("c001", "failed", 0, 0);
  end.mutable_node_finished()->set_failed(1);
  end.mutable_node_finished()->set_message("munge: shared key: no");
  EXPECT_EQ(RenderEventLine(end, {.failure_told = true}), "c001: failed\n");
  EXPECT_EQ(RenderEventLine(end, {}), "c001: failed\n    munge: shared key: no\n");
}

TEST(RunReport, EventsSeenBeforeABrokenStreamCountOnce) {
  RunView view(RunOf({"c001"}), kStart);
  view.Apply(Step("c001", 1, v1::STEP_STATUS_CHANGED), kStart);
  view.Apply(Step("c001", 1, v1::STEP_STATUS_CHANGED), kStart);
  view.Apply(Step("c001", 2, v1::STEP_STATUS_OK), kStart);
  EXPECT_EQ(view.nodes().at("c001").changed, 1u);
  EXPECT_EQ(view.nodes().at("c001").ok, 1u);
  EXPECT_EQ(view.sequence(), 2u);
}

TEST(RunReport, LinesSayWhatChangedAndWhatFailed) {
  EXPECT_EQ(RenderEventLine(Step("c001", 1, v1::STEP_STATUS_CHANGED), {}),
            "c001: changed munge: shared key\n");
  EXPECT_EQ(RenderEventLine(Step("c001", 1, v1::STEP_STATUS_OK), {}), "");
  EXPECT_EQ(RenderEventLine(Step("c001", 1, v1::STEP_STATUS_OK), {.quiet_steps = true}),
            "c001: ok      munge: shared key\n");
  v1::RunEvent failed = Step("c001", 1, v1::STEP_STATUS_FAILED);
  failed.mutable_step()->set_message("package 'slurmdd' does not exist");
  failed.mutable_step()->set_output("E: Unable to locate package slurmdd\n");
  const std::string reason =
      "c001: failed  munge: shared key\n    package 'slurmdd' does not exist\n";
  EXPECT_EQ(RenderEventLine(failed, {}), reason);
  EXPECT_EQ(RenderEventLine(failed, {.output = true}),
            reason + "    E: Unable to locate package slurmdd\n");
}

TEST(RunReport, WhatStepsThatSucceededPrintedIsShown) {
  v1::RunEvent event = Step("c001", 1, v1::STEP_STATUS_OK);
  event.mutable_step()->set_output("one\ntwo\033[2J\nthree\n");
  const std::string head = "c001: ok      munge: shared key\n";
  EXPECT_EQ(RenderEventLine(event, {.quiet_steps = true}), head);
  EXPECT_EQ(RenderEventLine(event, {.quiet_steps = true, .output = true}),
            head + "    one\n    two\n    three\n");
  EXPECT_EQ(RenderEventLine(event, {.quiet_steps = true, .output = true, .output_lines = 1}),
            head + "    … 2 lines before\n    three\n");
  event.mutable_step()->clear_output();  // like that of a sensitive step
  EXPECT_EQ(RenderEventLine(event, {.quiet_steps = true, .output = true}), head);
}

TEST(RunReport, TheRecapOfAFailureSaysWhereAllOfItIs) {
  RunView view(RunOf({"c001"}), kStart);
  view.Apply(Finished(v1::RUN_STATE_FAILED, {Recap("c001", "failed", 0, 1)}), kStart);
  EXPECT_THAT(RenderRecap(view, kStart), HasSubstr("muster run show r-1 --failed\n"));
}

TEST(RunReport, ValuesAreShownWhereNoDiffShowsThem) {
  v1::RunEvent event = Step("c001", 1, v1::STEP_STATUS_CHANGED);
  v1::Change& content = *event.mutable_step()->add_changes();
  content.set_field("content");
  content.set_diff("-a\n+b\n");
  v1::Change& mode = *event.mutable_step()->add_changes();
  mode.set_field("mode");
  mode.set_before("0600");
  mode.set_after("0644");
  const std::string head = "c001: changed munge: shared key\n    -a\n    +b\n";
  EXPECT_EQ(RenderEventLine(event, {}), head);
  EXPECT_EQ(RenderEventLine(event, {.values = true}), head + "    mode: 0600 -> 0644\n");
}

TEST(RunReport, RecapHasALineForEachNodeAndTheTotals) {
  RunView view(RunOf({"c001", "c002"}), kStart);
  view.Apply(Finished(v1::RUN_STATE_FAILED,
                      {Recap("c001", "done", 2, 0), Recap("c002", "unreachable", 0, 0)}),
             kStart);
  EXPECT_EQ(RenderRecap(view, kStart + absl::Seconds(30)),
            "\nrun r-1 in 30s\n"
            "c001   ok=3    changed=2    failed=0    skipped=0    unreachable=0\n"
            "c002   ok=3    changed=0    failed=0    skipped=0    unreachable=1\n"
            "total  ok=6    changed=2    failed=0    skipped=0    unreachable=1\n");
}

// Only the first words of `apply` named them, and neither `run show` nor `run watch` did.
TEST(RunReport, NodesThatWereLeftOutAreNamedAndCount) {
  v1::Run run = RunOf({"c001"});
  v1::BusyNodes& busy = *run.add_left_out();
  busy.set_nodes("c[002-003]");
  busy.set_reason("validation v-1 tests c[002-003] since 14:02:11 UTC");
  RunView view(run, kStart);
  view.Apply(Finished(v1::RUN_STATE_SUCCEEDED, {Recap("c001", "done", 2, 0)}), kStart);
  EXPECT_EQ(RenderRecap(view, kStart + absl::Seconds(30)),
            "\nrun r-1 in 30s\n"
            "c001   ok=3    changed=2    failed=0    skipped=0    unreachable=0\n"
            "\n"
            "c[002-003] left out:\n"
            "    validation v-1 tests c[002-003] since 14:02:11 UTC\n");
  EXPECT_EQ(RunExitCode(view, /*detailed=*/false), kExitUnreachable);
  EXPECT_EQ(RunExitCode(view, /*detailed=*/true), kExitUnreachable);
  RunView failed(run, kStart);
  failed.Apply(Finished(v1::RUN_STATE_FAILED, {Recap("c001", "failed", 2, 1)}), kStart);
  EXPECT_EQ(RunExitCode(failed, /*detailed=*/false), kExitFailed) << "a failed node is worse";
}

TEST(RunReport, ExitCodes) {
  const struct {
    v1::RunState state;
    v1::NodeRecap recap;
    bool detailed;
    int code;
  } cases[] = {
      {v1::RUN_STATE_SUCCEEDED, Recap("c001", "done", 2, 0), false, kExitClean},
      {v1::RUN_STATE_SUCCEEDED, Recap("c001", "done", 2, 0), true, kExitChanges},
      {v1::RUN_STATE_SUCCEEDED, Recap("c001", "done", 0, 0), true, kExitClean},
      {v1::RUN_STATE_FAILED, Recap("c001", "failed", 2, 1), true, kExitFailed},
      {v1::RUN_STATE_FAILED, Recap("c001", "unreachable", 0, 0), true, kExitUnreachable},
      {v1::RUN_STATE_CANCELLED, Recap("c001", "cancelled", 0, 0), false, kExitFailed},
  };
  for (const auto& c : cases) {
    RunView view(RunOf({"c001"}), kStart);
    view.Apply(Finished(c.state, {c.recap}), kStart);
    EXPECT_TRUE(view.finished());
    EXPECT_EQ(RunExitCode(view, c.detailed), c.code) << c.recap.ShortDebugString();
  }
}

}  // namespace
}  // namespace muster::cli
