// The drawings of watchers of runs, rollouts and validations, on terminals of several widths.
#include <filesystem>
#include <fstream>
#include <future>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/connection.h"
#include "cli/watch/patience.h"
#include "cli/watch/rollout_watcher.h"
#include "cli/watch/run_watcher.h"
#include "cli/watch/validation_watcher.h"
#include "common/base/id.h"
#include "common/base/proto_time.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fed_controller.h"
#include "tests/fixtures/pty_terminal.h"

namespace muster::cli {
namespace {

using ::muster::testing::FakeClock;
using ::muster::testing::FedController;
using ::muster::testing::PtyTerminal;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr unsigned short kRows = 24;

v1::RunEvent PlayStarted(uint64_t sequence, uint32_t play, const std::string& name,
                         const std::vector<std::string>& nodes) {
  v1::RunEvent event;
  event.set_sequence(sequence);
  event.mutable_play_started()->set_play_index(play);
  event.mutable_play_started()->set_name(name);
  for (const std::string& node : nodes) event.mutable_play_started()->add_nodes(node);
  return event;
}

v1::RunEvent Progress(const std::string& node, const std::string& role, const std::string& step,
                      uint32_t done, uint32_t total, const std::string& activity = "",
                      float percent = -1) {
  v1::RunEvent event;
  event.set_node(node);
  v1::StepProgress& progress = *event.mutable_progress();
  progress.set_role(role);
  progress.set_step_id(absl::StrCat(role, "/", step));
  progress.set_name(step);
  progress.set_activity(activity);
  progress.set_steps_done(done);
  progress.set_steps_total(total);
  if (percent >= 0) progress.set_percent(percent);
  return event;
}

v1::RunEvent Result(uint64_t sequence, const std::string& node, const std::string& role,
                    const std::string& step, v1::StepStatus status, bool handler = false) {
  v1::RunEvent event;
  event.set_sequence(sequence);
  event.set_node(node);
  event.mutable_step()->set_step_id(absl::StrCat(role, "/", step));
  event.mutable_step()->set_role(role);
  event.mutable_step()->set_name(step);
  event.mutable_step()->set_status(status);
  event.mutable_step()->set_handler(handler);
  return event;
}

v1::NodeRecap Recap(const std::string& node, const std::string& state, uint32_t ok,
                    uint32_t changed, const std::string& message = "") {
  v1::NodeRecap recap;
  recap.set_node(node);
  recap.set_state(state);
  recap.set_ok(ok);
  recap.set_changed(changed);
  recap.set_unreachable(state == "unreachable");
  recap.set_message(message);
  return recap;
}

v1::RolloutEvent StepOf(uint64_t sequence, absl::Time time, const std::string& node,
                        v1::RolloutStep step, const std::string& message = "") {
  v1::RolloutEvent event;
  event.set_sequence(sequence);
  *event.mutable_time() = ToTimestamp(time);
  event.set_node(node);
  event.set_step(step);
  event.set_message(message);
  return event;
}

v1::RolloutEvent StateOf(uint64_t sequence, v1::RolloutState state, uint32_t wave,
                         const std::string& message = "") {
  v1::RolloutEvent event;
  event.set_sequence(sequence);
  event.set_state(state);
  event.set_wave(wave);
  event.set_message(message);
  return event;
}

// Advances when the test says so, and when the watcher sleeps, which takes a real moment, too.
class WatcherClock final : public Clock {
 public:
  absl::Time Now() override { return clock_.Now(); }
  bool AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                  absl::Time deadline) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return clock_.AwaitUntil(mutex, condition, deadline);
  }
  void Sleep(absl::Duration duration) override {
    absl::SleepFor(absl::Milliseconds(50));
    clock_.Advance(duration);
  }
  void Advance(absl::Duration duration) { clock_.Advance(duration); }

 private:
  FakeClock clock_{absl::Now()};  // certificates are checked by it
};

class ScreenTest : public ::testing::Test {
 protected:
  ScreenTest() {
    context_.clock = &clock_;
    context_.config_directory = controller_.config_directory();
    v1::Run& run = controller_.run;
    run.set_run_id("r-7k3m9q2x");
    run.set_state(v1::RUN_STATE_RUNNING);
    *run.mutable_created_at() = ToTimestamp(clock_.Now() - absl::Seconds(95));
    run.add_plays("login nodes and the Slurm controller");
    run.add_plays("workers");
    for (const char* node : {"c001", "c002", "c003", "gpu-rack07-node0123", "login1"})
      run.add_nodes()->set_node(node);
    v1::Rollout& rollout = controller_.rollout;
    rollout.set_rollout_id("u-7k3m9q2x");
    *rollout.mutable_created_at() = ToTimestamp(clock_.Now() - absl::Minutes(95));
    for (const uint32_t size : {1, 4}) rollout.add_wave_sizes(size);
    for (const char* node : {"c001", "c002", "c003", "gpu-rack07-node0123"})
      rollout.add_nodes()->set_node(node);
  }
  ~ScreenTest() override {
    terminal_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Open(unsigned short columns) { terminal_.emplace(columns, kRows); }
  void WatchRun(WatchOptions options = {}) {
    watch_ = std::async(std::launch::async, [this, options]() -> absl::StatusOr<int> {
      absl::StatusOr<Connection*> connection = context_.Connect();
      if (!connection.ok()) return connection.status();
      return cli::WatchRun(context_, **connection, "r-7k3m9q2x", options);
    });
  }
  void WatchValidation() {
    watch_ = std::async(std::launch::async, [this]() -> absl::StatusOr<int> {
      absl::StatusOr<Connection*> connection = context_.Connect();
      if (!connection.ok()) return connection.status();
      return cli::WatchValidation(context_, **connection, "v-1");
    });
  }
  void WatchRollout() {
    watch_ = std::async(std::launch::async, [this]() -> absl::StatusOr<int> {
      absl::StatusOr<Connection*> connection = context_.Connect();
      if (!connection.ok()) return connection.status();
      return cli::WatchRollout(context_, **connection, "u-7k3m9q2x");
    });
  }
  void Feed(v1::RolloutEvent event) { controller_.rollout_events.Add(std::move(event)); }
  // The last event; every node is in that step.
  void FinishRollout(v1::RolloutState state, v1::RolloutStep step) {
    controller_.rollout.set_state(state);
    for (v1::RolloutNode& node : *controller_.rollout.mutable_nodes()) node.set_step(step);
    Feed(StateOf(1000, state, 1));
  }
  void Feed(v1::RunEvent event) { controller_.run_events.Add(std::move(event)); }
  // The last event, with the results of the nodes.
  void FinishRun(v1::RunState state = v1::RUN_STATE_SUCCEEDED,
                 const std::vector<v1::NodeRecap>& nodes = {}) {
    v1::RunEvent event;
    event.set_sequence(1000);
    v1::Run& run = *event.mutable_run_finished();
    run = controller_.run;
    run.set_state(state);
    *run.mutable_finished_at() = ToTimestamp(clock_.Now());
    run.clear_nodes();
    for (const v1::NodeRecap& node : nodes) *run.add_nodes() = node;
    Feed(event);
  }
  // The watcher's result; restores standard output.
  absl::StatusOr<int> End() {
    const absl::StatusOr<int> code = watch_.get();
    terminal_->End();
    return code;
  }
  std::string AwaitText(const std::string& text) {
    return terminal_->Await(
        [&](const std::string& screen) { return absl::StrContains(screen, text); });
  }
  // The screen once it equals the file, or its final state; then the watcher is ended.
  std::string AwaitGolden(const std::string& golden) {
    return terminal_->Await([&](const std::string& screen) { return screen == golden; });
  }
  static std::string Golden(const std::string& name) {
    std::ifstream file(absl::StrCat("tests/testdata/screens/", name));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / NewShortId("screen");
  WatcherClock clock_;
  FedController controller_{folder_};
  Context context_;
  std::optional<PtyTerminal> terminal_;
  std::future<absl::StatusOr<int>> watch_;
};

class ScreenOfWidthTest : public ScreenTest, public ::testing::WithParamInterface<int> {
 protected:
  ScreenOfWidthTest() { Open(static_cast<unsigned short>(GetParam())); }
};
INSTANTIATE_TEST_SUITE_P(Columns, ScreenOfWidthTest, ::testing::Values(60, 100, 160));

TEST_P(ScreenOfWidthTest, ARunInTheMiddle) {
  const std::string golden = Golden(absl::StrCat("run-", GetParam(), ".txt"));
  WatchRun();
  Feed(PlayStarted(1, 0, "login nodes and the Slurm controller", {"login1"}));
  Feed(Result(2, "login1", "munge", "shared key", v1::STEP_STATUS_CHANGED));
  v1::RunEvent login;
  login.set_sequence(3);
  *login.mutable_node_finished() = Recap("login1", "done", 8, 22);
  Feed(login);
  Feed(PlayStarted(4, 1, "workers", {"c001", "c002", "c003", "gpu-rack07-node0123"}));
  v1::RunEvent lost;
  lost.set_sequence(5);
  *lost.mutable_node_finished() =
      Recap("c003", "unreachable", 0, 0,
            "not connected; check the agent: `systemctl status muster-agent` on the node");
  Feed(lost);
  AwaitText("c003: unreachable");  // progress overtakes nothing
  Feed(Progress("c001", "slurm_worker", "worker packages", 27, 31,
                "downloading 15 of 32 packages, 204 of 1024 MB", 45));
  Feed(Progress("c002", "nvidia_driver", "driver of the GPUs", 5, 31,
                "building the module for 6.1.0-37-amd64"));
  const std::string screen = AwaitGolden(golden);
  const std::string error = terminal_->Error();
  FinishRun();
  EXPECT_TRUE(End().ok());
  EXPECT_EQ(screen, golden);
  EXPECT_EQ(error, "");
}

TEST_P(ScreenOfWidthTest, AValidationInTheMiddle) {
  const std::string golden = Golden(absl::StrCat("validation-", GetParam(), ".txt"));
  WatchValidation();
  const auto feed = [this](const char* node, const char* stage, const char* check,
                           const char* partner) {
    v1::ValidationEvent event;
    event.set_node(node);
    v1::RunningCheck& running = *event.mutable_running();
    running.set_stage(stage);
    running.set_check(check);
    running.set_partner(partner);
    running.mutable_progress()->set_fraction(0.45);
    running.mutable_progress()->set_phase("receiving, 15 of 32 rounds of 1024 MiB each");
    controller_.validation_events.Add(event);
  };
  const auto tell = [this](const char* node, const char* check, const char* partner,
                           v1::Outcome outcome) {
    v1::ValidationEvent event;
    event.set_node(node);
    event.mutable_verdict()->set_stage("network");
    event.mutable_verdict()->set_check(check);
    event.mutable_verdict()->set_partner(partner);
    event.mutable_verdict()->set_outcome(outcome);
    controller_.validation_events.Add(event);
  };
  tell("c001", "nic-link", "", v1::OUTCOME_PASS);
  tell("c001", "nic-pair", "c002", v1::OUTCOME_PASS);
  feed("c001", "network", "nic-pair", "c003");
  feed("c002", "gpu burn", "gpu-gemm", "");
  const std::string screen = AwaitGolden(golden);
  const std::string error = terminal_->Error();
  v1::ValidationEvent end;
  end.mutable_finished()->set_state(v1::VALIDATION_STATE_DONE);
  controller_.validation_events.Add(end);
  EXPECT_TRUE(End().ok());
  EXPECT_EQ(screen, golden);
  EXPECT_EQ(error, "");
}

TEST_P(ScreenOfWidthTest, ARolloutInTheMiddle) {
  const std::string golden = Golden(absl::StrCat("rollout-", GetParam(), ".txt"));
  WatchRollout();
  const absl::Time start = clock_.Now() - absl::Minutes(95);
  Feed(StateOf(1, v1::ROLLOUT_STATE_ROLLING, 0));
  Feed(StepOf(2, start, "c001", v1::ROLLOUT_STEP_DRAINING));
  Feed(StepOf(3, start + absl::Minutes(5), "c001", v1::ROLLOUT_STEP_DONE));
  Feed(StateOf(4, v1::ROLLOUT_STATE_ROLLING, 1));
  Feed(StepOf(5, start + absl::Minutes(6), "c002", v1::ROLLOUT_STEP_DRAINING));
  Feed(StepOf(6, start + absl::Minutes(7), "c002", v1::ROLLOUT_STEP_DRAINING,
              "waits for jobs 4711 (ann, train) and 4712 (bob, evaluation), which end in 3 h"));
  Feed(StepOf(7, start + absl::Minutes(60), "gpu-rack07-node0123", v1::ROLLOUT_STEP_APPLYING,
              "run r-7k3m9q2x"));
  Feed(StepOf(8, start + absl::Minutes(90), "c003", v1::ROLLOUT_STEP_QUARANTINED,
              "2 of 8 GPUs are missing"));
  const std::string screen = AwaitGolden(golden);
  const std::string error = terminal_->Error();
  FinishRollout(v1::ROLLOUT_STATE_COMPLETED, v1::ROLLOUT_STEP_DONE);
  EXPECT_TRUE(End().ok());
  EXPECT_EQ(screen, golden);
  EXPECT_EQ(error, "");
}

TEST_F(ScreenTest, APausedRolloutSaysHowItContinuesAndIsStillWatched) {
  Open(100);
  WatchRollout();
  Feed(StateOf(1, v1::ROLLOUT_STATE_ROLLING, 0));
  Feed(StateOf(2, v1::ROLLOUT_STATE_PAUSED, 0, "1 node has failed"));
  const std::string paused = AwaitText("to continue: muster rollout resume u-7k3m9q2x");
  controller_.rollout_events.Break();
  EXPECT_TRUE(controller_.rollout_events.AwaitWatches(2));
  Feed(StateOf(3, v1::ROLLOUT_STATE_ROLLING, 0));
  Feed(StepOf(4, clock_.Now(), "c001", v1::ROLLOUT_STEP_DONE));
  AwaitText("c001: done");
  FinishRollout(v1::ROLLOUT_STATE_COMPLETED, v1::ROLLOUT_STEP_DONE);
  const absl::StatusOr<int> code = End();
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, kExitClean);
  EXPECT_THAT(paused, HasSubstr("paused: 1 node has failed"));
  const std::string screen = terminal_->Screen();
  // The break has repeated nothing.
  EXPECT_EQ(screen.find("to continue"), screen.rfind("to continue"));
  EXPECT_EQ(screen.find("paused: 1 node"), screen.rfind("paused: 1 node"));
}

TEST_F(ScreenTest, ARolloutThatLeavesNodesBehindHasFailed) {
  Open(100);
  WatchRollout();
  FinishRollout(v1::ROLLOUT_STATE_ABORTED, v1::ROLLOUT_STEP_SKIPPED);
  const absl::StatusOr<int> code = End();
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, kExitFailed);
  EXPECT_THAT(terminal_->Screen(), HasSubstr("c[001-003],gpu-rack07-node0123  skipped"));
}

TEST_F(ScreenTest, ARolloutAsJsonIsALineForEachEventAndNothingElse) {
  Open(160);
  context_.output = OutputFormat::kJson;
  WatchRollout();
  Feed(StateOf(1, v1::ROLLOUT_STATE_PAUSED, 0, "1 node has failed"));
  Feed(StepOf(2, absl::UnixEpoch(), "c001", v1::ROLLOUT_STEP_DRAINING, "\033[2J"));
  FinishRollout(v1::ROLLOUT_STATE_COMPLETED, v1::ROLLOUT_STEP_DONE);
  EXPECT_TRUE(End().ok());
  const std::string written = terminal_->Written();
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 3);
  EXPECT_THAT(written, HasSubstr("\"step\":\"draining\""));
  EXPECT_THAT(written, HasSubstr("\"state\":\"paused\""));
  EXPECT_THAT(written, Not(HasSubstr("\033[2J")));
}

TEST_F(ScreenTest, TheBarNeverRunsBackwards) {
  Open(100);
  WatchRun();
  Feed(PlayStarted(1, 0, "workers", {"c001"}));
  AwaitText("play 1: workers");
  // Handlers' results, which are not among the 31 steps, and progress that lags behind the results.
  Feed(Progress("c001", "slurm_worker", "packages", 26, 31));
  AwaitText(" 26/31 ");
  for (uint64_t step = 0; step < 27; ++step)
    Feed(Result(2 + step, "c001", "r", absl::StrCat("step ", step), v1::STEP_STATUS_CHANGED));
  for (uint64_t step = 0; step < 4; ++step)
    Feed(Result(40 + step, "c001", "r", absl::StrCat("h ", step), v1::STEP_STATUS_CHANGED, true));
  AwaitText("changed r: h 3 (handler)");
  Feed(Progress("c001", "slurm_worker", "restart slurmd", 25, 31));
  AwaitText("restart slurmd");
  controller_.run_events.Break();  // all of it is repeated
  Feed(Progress("c001", "slurm_worker", "the next one", 27, 31));
  AwaitText("the next one");
  const std::string written = terminal_->Written();
  FinishRun();
  EXPECT_TRUE(End().ok());
  int last = 0;
  const std::regex steps("([0-9]+)/31 ");
  for (std::sregex_iterator at(written.begin(), written.end(), steps), end; at != end; ++at) {
    const int done = std::stoi((*at)[1]);
    EXPECT_GE(done, last);
    last = done;
  }
  EXPECT_EQ(last, 27);
}

TEST_F(ScreenTest, AConnectionThatBreaksWhileNodesRebootIsNoControllerThatWentAway) {
  Open(100);
  WatchRun();
  Feed(PlayStarted(1, 0, "workers", {"c001"}));
  AwaitText("play 1: workers");
  Feed(Progress("c001", "kernel", "reboot", 3, 31, "rebooting"));
  AwaitText("rebooting");
  // The run has no news while nodes boot, and the connection breaks twice.
  for (int round = 1; round <= 2; ++round) {
    controller_.run_events.Break();
    EXPECT_TRUE(controller_.run_events.AwaitWatches(round + 1));
    // The client learns of it a moment after the controller has accepted it.
    absl::SleepFor(absl::Milliseconds(500));
    clock_.Advance(absl::Seconds(100));
  }
  const std::string screen = AwaitText("rebooting");
  FinishRun();
  EXPECT_TRUE(End().ok());
  EXPECT_THAT(screen, Not(HasSubstr("controller")));
}

TEST_F(ScreenTest, AControllerThatIsAwayIsToldOnceAndWaitedFor) {
  Open(100);
  WatchRun();
  Feed(PlayStarted(1, 0, "workers", {"c001"}));
  AwaitText("play 1: workers");
  controller_.Shutdown();
  AwaitText("no connection to the controller");
  controller_.Restart();
  // There is no news of the run: it suffices that it can be watched. Time passes for the watcher.
  std::string screen = terminal_->Screen();
  for (int i = 0; i < 600 && !absl::StrContains(screen, "connected to the controller again"); ++i) {
    absl::SleepFor(absl::Milliseconds(50));
    clock_.Advance(absl::Milliseconds(50));
    screen = terminal_->Screen();
  }
  FinishRun();
  EXPECT_TRUE(End().ok());
  EXPECT_THAT(screen, AllOf(HasSubstr("no connection to the controller; trying again"),
                            HasSubstr("connected to the controller again")));
  EXPECT_EQ(screen.find("no connection"), screen.rfind("no connection"));
}

TEST_F(ScreenTest, ARunThatEndedDaysAgoTookAsLongAsItTook) {
  Open(100);
  controller_.run.set_state(v1::RUN_STATE_SUCCEEDED);
  *controller_.run.mutable_created_at() = ToTimestamp(clock_.Now() - absl::Hours(70));
  *controller_.run.mutable_finished_at() =
      ToTimestamp(clock_.Now() - absl::Hours(70) + absl::Seconds(40));
  v1::RunEvent end;
  end.set_sequence(1);
  *end.mutable_run_finished() = controller_.run;
  Feed(end);
  WatchRun();
  EXPECT_TRUE(End().ok());
  EXPECT_THAT(terminal_->Screen(), HasSubstr("run r-7k3m9q2x in 40s"));
  EXPECT_THAT(terminal_->Written(), Not(HasSubstr("2d 22h")));
}

TEST_F(ScreenTest, OnlyAWatcherThatShowsUnchangedStepsIsSentThem) {
  FinishRun();
  for (const bool verbose : {false, true}) {
    for (const OutputFormat output : {OutputFormat::kTable, OutputFormat::kJson}) {
      const bool wants_changes = !verbose && output == OutputFormat::kTable;
      controller_.is_asked_for_changes = !wants_changes;
      context_.output = output;
      Open(100);
      WatchRun({.verbose = verbose});
      EXPECT_TRUE(End().ok());
      EXPECT_EQ(controller_.is_asked_for_changes, wants_changes);
    }
  }
}

TEST_F(ScreenTest, ACheckSaysWhatWouldChange) {
  Open(100);
  controller_.run.set_check_only(true);
  WatchRun();
  Feed(PlayStarted(1, 0, "workers", {"c001"}));
  Feed(Result(2, "c001", "munge", "shared key", v1::STEP_STATUS_CHANGED));
  FinishRun(v1::RUN_STATE_SUCCEEDED, {Recap("c001", "done", 3, 1)});
  EXPECT_TRUE(End().ok());
  const std::string screen = terminal_->Screen();
  EXPECT_THAT(screen, HasSubstr("c001: would change munge: shared key"));
  EXPECT_THAT(screen, HasSubstr("would change=1"));
  EXPECT_THAT(screen, Not(HasSubstr("changed")));
}

TEST_F(ScreenTest, WhatANodeSaysSteersNoTerminal) {
  Open(100);
  WatchRun();
  Feed(PlayStarted(1, 0, "workers", {"c001"}));
  v1::RunEvent failed =
      Result(2, "c001", "munge\033[2J", "key\033]0;title\a", v1::STEP_STATUS_FAILED);
  failed.mutable_step()->set_message("\033[31mred\r\n\b\b");
  Feed(failed);
  Feed(Progress("c001", "a\033[5m", "b\033[1A", 1, 2, "\033[?1049h"));
  AwaitText(" 1/2 ");
  const std::string error = terminal_->Error();
  FinishRun(v1::RUN_STATE_FAILED, {Recap("c001", "failed", 3, 1, "\033[31mred")});
  EXPECT_TRUE(End().ok());
  EXPECT_EQ(error, "");
  EXPECT_EQ(terminal_->Error(), "");
}

}  // namespace
}  // namespace muster::cli
