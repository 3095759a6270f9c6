#include "agent/engine/engine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/agent/engine/engine_fixture.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(EngineTest, ConvergesThenHasNothingToDo) {
  v1::Plan plan =
      MakePlan(1, {Role("base", {File("base/a", "/a", "1"), File("base/b", "/b", "2")})});
  EXPECT_TRUE(Run(plan).succeeded());
  EXPECT_EQ(StatusOf(plan, "base/a"), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(node_.state()["/b"], "2");
  const v1::StepResult a = Results(plan.plan_id())["base/a"];
  ASSERT_EQ(a.changes_size(), 1);
  EXPECT_EQ(a.changes(0).after(), "1");
  EXPECT_EQ(a.role(), "base");

  plan.set_plan_id("r-2/0");
  plan.set_sequence(2);
  EXPECT_TRUE(Run(plan).succeeded());
  EXPECT_EQ(StatusOf(plan, "base/a"), v1::STEP_STATUS_OK);
  EXPECT_EQ(node_.applies, 2);
}

TEST_F(EngineTest, AFailureStopsItsRoleAndThoseThatNeedItAndNoOther) {
  node_.apply_errors["file[/m]"] = absl::InternalError("disk is on fire");
  const v1::Plan plan =
      MakePlan(1, {Role("munge", {File("munge/m", "/m", "1"), File("munge/n", "/n", "1")}),
                   Role("worker", {File("worker/w", "/w", "1")}, {"munge"}),
                   Role("extra", {File("extra/e", "/e", "1")}, {"worker"}),
                   Role("users", {File("users/u", "/u", "1")})});
  const v1::PlanOutcome outcome = Run(plan);
  EXPECT_FALSE(outcome.succeeded());
  EXPECT_EQ(outcome.message(), "role munge failed at 'munge/m'");
  auto results = Results(plan.plan_id());
  EXPECT_EQ(results["munge/m"].status(), v1::STEP_STATUS_FAILED);
  EXPECT_EQ(results["munge/m"].message(), "disk is on fire");
  EXPECT_EQ(results["munge/n"].status(), v1::STEP_STATUS_SKIPPED);
  EXPECT_EQ(results["munge/n"].message(), "step 'munge/m' of the role failed");
  EXPECT_EQ(results["worker/w"].message(), "needs role munge, which failed");
  EXPECT_EQ(results["extra/e"].message(), "needs role worker, which was skipped");
  EXPECT_EQ(results["users/u"].status(), v1::STEP_STATUS_CHANGED);
}

TEST_F(EngineTest, SaysWhatIsLeftWhenAStepDoesNotConverge) {
  node_.never_converge.insert("file[/a]");
  const v1::Plan plan = MakePlan(1, {Role("base", {File("base/a", "/a", "1")})});
  EXPECT_FALSE(Run(plan).succeeded());
  EXPECT_EQ(Results(plan.plan_id())["base/a"].message(),
            "file[/a] did not converge; left: content  -> 1");
}

TEST_F(EngineTest, RolesWithoutAPathBetweenThemRunSideBySide) {
  absl::Notification left;
  absl::Notification right;
  // Each waits for the other: run one after the other, they would never end.
  node_.during_apply["file[/l]"] = [&](ApplyObserver&) {
    left.Notify();
    EXPECT_TRUE(right.WaitForNotificationWithTimeout(absl::Minutes(1)));
  };
  node_.during_apply["file[/r]"] = [&](ApplyObserver&) {
    right.Notify();
    EXPECT_TRUE(left.WaitForNotificationWithTimeout(absl::Minutes(1)));
  };
  EXPECT_TRUE(
      Run(MakePlan(1, {Role("l", {File("l/l", "/l", "1")}), Role("r", {File("r/r", "/r", "1")})}))
          .succeeded());
}

TEST_F(EngineTest, ARoleWaitsForItsNeeds) {
  node_.requires_key["file[/b]"] = "/a";
  EXPECT_TRUE(Run(MakePlan(1, {Role("b", {File("b/b", "/b", "1")}, {"a"}),
                               Role("a", {File("a/a", "/a", "1")})}))
                  .succeeded());
}

TEST_F(EngineTest, SkipsWhatTheControllerSkipped) {
  v1::Step step;
  step.set_step_id("base/gpu");
  step.set_skip_reason("when: facts.gpus is false");
  const v1::Plan plan = MakePlan(1, {Role("base", {step})});
  EXPECT_TRUE(Run(plan).succeeded());
  EXPECT_EQ(StatusOf(plan, "base/gpu"), v1::STEP_STATUS_SKIPPED);
  EXPECT_EQ(Results(plan.plan_id())["base/gpu"].message(), "when: facts.gpus is false");
}

TEST_F(EngineTest, ASensitiveStepTellsNoValue) {
  v1::Step secret = File("munge/key", "/key", "hunter2");
  secret.set_sensitive(true);
  node_.during_apply["file[/key]"] = [](ApplyObserver& o) {
    o.OnOutput("hunter2");
    o.OnActivity("writing hunter2", std::nullopt);
  };
  v1::Plan plan = MakePlan(1, {Role("munge", {secret})});
  plan.set_want_diff(true);
  EXPECT_TRUE(Run(plan).succeeded());
  const v1::StepResult result = Results(plan.plan_id())["munge/key"];
  EXPECT_THAT(result.ShortDebugString(), ::testing::Not(HasSubstr("hunter2")));
  EXPECT_EQ(result.changes(0).after(), "[secret]");
  EXPECT_EQ(result.changes(0).diff(), "");
  for (const v1::StepProgress& p : listener_.progress()) EXPECT_EQ(p.activity(), "");
}

TEST_F(EngineTest, CancelStopsAfterTheRunningStep) {
  absl::Notification running;
  absl::Notification go_on;
  node_.during_apply["file[/a]"] = [&](ApplyObserver&) {
    running.Notify();
    go_on.WaitForNotification();
  };
  Start();
  const v1::Plan plan = MakePlan(
      1, {Role("base", {File("base/a", "/a", "1", {"base/handler/h"}), File("base/b", "/b", "1")},
               {}, {Command("base/handler/h", "h")}),
          Role("next", {File("next/c", "/c", "1")}, {"base"})});
  EXPECT_TRUE(engine_->Submit(plan).accepted());
  running.WaitForNotification();
  EXPECT_OK(engine_->Cancel(plan.plan_id()));
  go_on.Notify();
  const v1::PlanOutcome outcome = AwaitEnd(plan.plan_id());
  EXPECT_TRUE(outcome.cancelled());
  EXPECT_FALSE(outcome.succeeded());
  auto results = Results(plan.plan_id());
  EXPECT_EQ(results["base/a"].status(), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(results["base/b"].message(), "cancelled");
  EXPECT_EQ(results["next/c"].message(), "cancelled");
  EXPECT_EQ(results["base/handler/h"].message(), "cancelled; will run next time");
}

TEST_F(EngineTest, RefusesWithAReasonAndAcceptsTheSamePlanAgain) {
  Start();
  const v1::Plan plan = MakePlan(5, {Role("base", {File("base/a", "/a", "1")})});
  Run(plan);
  EXPECT_TRUE(engine_->Submit(plan).accepted());
  v1::Plan older = MakePlan(4, {Role("base", {File("base/a", "/a", "2")})});
  const v1::PlanReceipt receipt = engine_->Submit(older);
  EXPECT_FALSE(receipt.accepted());
  EXPECT_THAT(receipt.reason(), Said());
  EXPECT_EQ(node_.applies, 1);
}

TEST_F(EngineTest, RunsQueuedPlansInOrder) {
  absl::Notification go_on;
  node_.during_apply["file[/1]"] = [&](ApplyObserver&) { go_on.WaitForNotification(); };
  Start();
  for (uint64_t i = 1; i <= 3; ++i) {
    const std::string path = absl::StrCat("/", i);
    EXPECT_TRUE(engine_->Submit(MakePlan(i, {Role("r", {File("r/f", path, "1")})})).accepted());
  }
  go_on.Notify();
  AwaitEnd("r-3/0");
  std::vector<std::string> order;
  for (const v1::Report& report : journal_->ReportsAfter(0, 100)) {
    if (report.has_outcome()) order.push_back(report.plan_id());
  }
  EXPECT_THAT(order, ElementsAre("r-1/0", "r-2/0", "r-3/0"));
}

TEST_F(EngineTest, TellsProgressWithStepsDone) {
  const auto is_told = [this] {
    for (const v1::StepProgress& p : listener_.progress()) {
      if (p.step_id() == "r/b" && p.activity() == "unpacking" && p.percent() == 40.0f &&
          p.steps_done() == 1 && p.steps_total() == 2) {
        return true;
      }
    }
    return false;
  };
  node_.during_apply["file[/b]"] = [&](ApplyObserver& observer) {
    observer.OnActivity("unpacking", 40.0f);
    for (int i = 0; i < 2000 && !is_told(); ++i) clock_.Sleep(absl::Milliseconds(5));
  };
  Run(MakePlan(1, {Role("r", {File("r/a", "/a", "1"), File("r/b", "/b", "1")})}));
  EXPECT_TRUE(is_told());
  EXPECT_EQ(listener_.progress().back().steps_done(), 2u);
}

TEST_F(EngineTest, KeepsTheEndOfALongOutput) {
  node_.during_apply["file[/a]"] = [&](ApplyObserver& observer) {
    for (int i = 0; i < 40000; ++i) observer.OnOutput(absl::StrCat("line ", i, "\n"));
  };
  const v1::Plan plan = MakePlan(1, {Role("r", {File("r/a", "/a", "1")})});
  Run(plan);
  const std::string output = Results(plan.plan_id())["r/a"].output();
  EXPECT_LE(output.size(), size_t{64} << 10);
  EXPECT_THAT(output, HasSubstr("line 39999\n"));
  EXPECT_EQ(output.rfind("line ", 0), 0u);
}

TEST_F(EngineTest, AQueuedPlanThatExpiresIsNotStarted) {
  absl::Notification running, go_on;
  node_.during_apply["file[/1]"] = [&](ApplyObserver&) {
    running.Notify();
    go_on.WaitForNotification();
  };
  Start();
  EXPECT_TRUE(engine_->Submit(MakePlan(1, {Role("r", {File("r/f", "/1", "1")})})).accepted());
  ASSERT_TRUE(running.WaitForNotificationWithTimeout(absl::Minutes(1)));
  v1::Plan late = MakePlan(2, {Role("r", {File("r/f", "/2", "1")})});
  const absl::Time expiry = clock_.Now() + absl::Seconds(1);
  late.mutable_expires_at()->set_seconds(absl::ToUnixSeconds(expiry));
  late.mutable_expires_at()->set_nanos(
      static_cast<int32_t>(absl::ToUnixNanos(expiry) % 1'000'000'000));
  EXPECT_TRUE(engine_->Submit(late).accepted());
  clock_.Sleep(expiry - clock_.Now() + absl::Milliseconds(50));
  go_on.Notify();
  const v1::PlanOutcome outcome = AwaitEnd("r-2/0");
  EXPECT_FALSE(outcome.succeeded());
  EXPECT_THAT(outcome.message(), Said());
  EXPECT_EQ(node_.state().count("/2"), 0u);
}

TEST_F(EngineTest, TellsWhichPlansAreNotOver) {
  Run(MakePlan(1, {Role("a", {File("a/1", "/1", "x")})}));
  Run(MakePlan(2, {Role("a", {File("a/1", "/1", "y")})}));
  Shutdown();
  EXPECT_THAT(told_, ::testing::Contains(::testing::ElementsAre("r-1/0")));
  EXPECT_THAT(told_, ::testing::Contains(::testing::ElementsAre("r-2/0")));
  EXPECT_TRUE(told_.front().empty());
  EXPECT_TRUE(told_.back().empty());
}

TEST_F(EngineTest, LeavesAStepThatLetGoWhenTheAgentStopsToItsNextLife) {
  Start();
  node_.apply_errors["file[/1]"] = absl::CancelledError("the agent stops");
  node_.during_apply["file[/1]"] = [this](ApplyObserver&) { engine_->Stop(); };
  const v1::Plan plan = MakePlan(1, {Role("a", {File("a/1", "/1", "x"), File("a/2", "/2", "x")})});
  EXPECT_TRUE(engine_->Submit(plan).accepted());
  for (int i = 0; i < 60'000 && !engine_->has_ended(); ++i) clock_.Sleep(absl::Milliseconds(1));
  EXPECT_TRUE(Results(plan.plan_id()).empty());
  Shutdown();
  node_.apply_errors.clear();
  node_.during_apply.clear();
  const size_t before = told_.size();
  Start();
  EXPECT_TRUE(AwaitEnd(plan.plan_id()).succeeded());
  EXPECT_EQ(StatusOf(plan, "a/1"), v1::STEP_STATUS_CHANGED);
  Shutdown();
  EXPECT_EQ(told_[before], std::vector<std::string>{plan.plan_id()});
}

}  // namespace
}  // namespace muster::agent
