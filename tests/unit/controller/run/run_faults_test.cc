// Nodes that are away, a controller that dies, a store that refuses.
#include "common/base/status.h"
#include "controller/run/plan/plan_finish.h"
#include "controller/run/report_inbox.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/failing_store.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::FailingStore;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;

class RunFaultsTest : public RunFixture {
 protected:
  // From here on the engine works over a store that fails on request.
  FailingStore& MakeStoreFail() {
    auto failing = std::make_unique<FailingStore>(std::move(store_));
    FailingStore& store = *failing;
    store_ = std::move(failing);
    Restart();
    return store;
  }
};

TEST_F(RunFaultsTest, NodeThatNeverComesIsUnreachableAndTheOthersFinish) {
  Connect("a");
  const v1::Run run = MustCreate("one.yaml");
  Complete("a", run.run_id() + "/0");
  Pass(absl::Seconds(9));
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_RUNNING);
  Pass(absl::Seconds(1));
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(StateOf(run.run_id(), "a"), "done ok=0 changed=1 failed=0");
  EXPECT_EQ(StateOf(run.run_id(), "b"), "unreachable ok=0 changed=0 failed=0");
  EXPECT_TRUE(Run(run.run_id()).nodes(1).unreachable());
  EXPECT_EQ(NodeOf("b").last_run_result, "unreachable");
}

TEST_F(RunFaultsTest, NodeThatIsBackInTimeGoesOn) {
  Connect("a");
  Connect("b");
  const v1::Run run = MustCreate("one.yaml");
  const v1::Plan before = MustTakePlan("b");
  Cut("b");
  Pass(absl::Seconds(10));
  Connect("b", before.plan_id());
  EXPECT_EQ(MustTakePlan("b").digest(), before.digest());
  Complete("b", before.plan_id());
  Complete("a", before.plan_id());
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_SUCCEEDED);
}

TEST_F(RunFaultsTest, LateReportsAreKeptWithoutChangingTheEnd) {
  Connect("a");
  Connect("b");
  const v1::Run run = MustCreate("one.yaml");
  const std::string plan = run.run_id() + "/0";
  Cut("b");
  Complete("a", plan);
  Pass(absl::Seconds(16));
  ASSERT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_FAILED);
  Connect("b", plan);
  Complete("b", plan);
  EXPECT_EQ(StateOf(run.run_id(), "b"), "unreachable ok=0 changed=1 failed=0");
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(NodeOf("b").report_sequence, 2u);
}

TEST_F(RunFaultsTest, FullQueueOfANodeOnlyDelaysItsPlan) {
  Connect("a");
  sessions_.Clog("ua", true);
  const v1::Run run = MustCreate("one.yaml", "a");
  Pass(absl::Seconds(3));
  sessions_.Clog("ua", false);
  Pass(absl::Seconds(1));
  EXPECT_EQ(MustTakePlan("a").plan_id(), run.run_id() + "/0");
}

TEST_F(RunFaultsTest, NothingIsAcknowledgedBeyondAReportThatWasDropped) {
  FailingStore& store = MakeStoreFail();
  Connect("a");
  Connect("b");
  const std::string plan = MustCreate("one.yaml").run_id() + "/0";
  const auto report = [&](const char* uuid, uint64_t sequence) {
    v1::Report message;
    message.set_plan_id(plan);
    message.set_report_sequence(sequence);
    message.mutable_step()->set_step_id("role/step");
    message.mutable_step()->set_status(v1::STEP_STATUS_OK);
    engine_->OnReports({{uuid, std::make_shared<const v1::Report>(message)}});
  };
  store.refuse = true;
  for (uint64_t i = 1; i <= ReportInbox::kMaxBacklog; ++i) report("ub", i);
  report("ua", 1);  // the disk is full
  EXPECT_FALSE(sessions_.IsConnected("ua"));
  store.refuse = false;
  Pass(absl::Seconds(1));
  EXPECT_EQ(NodeOf("b").report_sequence, ReportInbox::kMaxBacklog);
  report("ua", 2);  // was in transit
  EXPECT_EQ(NodeOf("a").report_sequence, 0u);
  Connect("a", plan);
  report("ua", 1);
  report("ua", 2);
  EXPECT_EQ(NodeOf("a").report_sequence, 2u);
}

TEST_F(RunFaultsTest, BacklogIsBoundedByBytes) {
  FailingStore& store = MakeStoreFail();
  Connect("a");
  Connect("b");
  const std::string plan = MustCreate("one.yaml").run_id() + "/0";
  store.refuse = true;
  v1::Report report;
  report.set_plan_id(plan);
  report.mutable_step()->set_step_id("role/step");
  report.mutable_step()->set_status(v1::STEP_STATUS_OK);
  report.mutable_step()->set_output(std::string(1 << 20, 'x'));
  uint64_t sent = 0;
  while (sessions_.IsConnected("ub") && sent * (1 << 20) < 2 * ReportInbox::kMaxBacklogBytes) {
    report.set_report_sequence(++sent);
    engine_->OnReports({{"ub", std::make_shared<const v1::Report>(report)}});
  }
  EXPECT_FALSE(sessions_.IsConnected("ub"));
  EXPECT_LE(sent * (1 << 20), ReportInbox::kMaxBacklogBytes + (1 << 20));
  // There is room again as soon as they are stored.
  store.refuse = false;
  Pass(absl::Seconds(1));
  EXPECT_EQ(NodeOf("b").report_sequence, sent - 1);
  store.refuse = true;
  report.set_report_sequence(1);
  engine_->OnReports({{"ua", std::make_shared<const v1::Report>(report)}});
  EXPECT_TRUE(sessions_.IsConnected("ua"));
}

TEST_F(RunFaultsTest, RunGoesOnAfterARestartOfTheController) {
  for (const char* name : {"a", "b", "c"}) Connect(name);
  const v1::Run run = MustCreate("two.yaml");
  const std::string plan = run.run_id() + "/0";
  Complete("a", plan);
  ReportStep("b", plan, v1::STEP_STATUS_OK, "role/earlier");
  const uint64_t sequence = NodeOf("b").plan_sequence;
  for (const char* name : {"a", "b", "c"}) {
    sessions_.Cut(std::string("u") + name);
    sessions_.Take(std::string("u") + name);
  }
  Restart();
  Pass(absl::Seconds(30));
  for (const char* name : {"a", "b", "c"}) Connect(name, plan);
  // A finished node gets nothing; an unfinished one gets the same plan id under a higher sequence.
  EXPECT_TRUE(sessions_.Take("ua").empty());
  const v1::Plan again = MustTakePlan("b");
  EXPECT_EQ(again.plan_id(), plan);
  EXPECT_GT(again.sequence(), sequence);
  ReportStep("b", plan, v1::STEP_STATUS_CHANGED, "role/earlier");
  Complete("b", plan);
  EXPECT_EQ(StateOf(run.run_id(), "b"), "waiting ok=0 changed=2 failed=0");
  AnswerFacts(run.run_id(), 1);
  for (const char* name : {"a", "b", "c"}) Complete(name, run.run_id() + "/1");
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_SUCCEEDED);
}

TEST_F(RunFaultsTest, RunWhoseBundleIsGoneEndsAndTheControllerStarts) {
  Connect("a");
  const v1::Run run = MustCreate("one.yaml");
  site_.clear();
  Restart();
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_FAILED);
  EXPECT_THAT(Run(run.run_id()).message(), Said());
}

// A tool locks the file for a moment: that must not end a run.
TEST_F(RunFaultsTest, RunOutlivesARestartThatFindsTheStoreLocked) {
  FailingStore& store = MakeStoreFail();
  Connect("a");
  const v1::Run run = MustCreate("one.yaml", "a");
  for (int view = 1; view <= 4; ++view) {
    engine_ = std::make_unique<RunEngine>(Collaborators());
    store.Refuse(view, 1);
    EXPECT_THAT(engine_->Resume(), StatusIs(absl::StatusCode::kUnavailable, Said()));
  }
  Restart();
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_RUNNING);
}

TEST_F(RunFaultsTest, CatchUpWaitsForAStoreThatTakesNothingNow) {
  FailingStore& store = MakeStoreFail();
  const v1::Run missed = MustCreate("one.yaml", "b");
  Pass(absl::Seconds(10));
  ASSERT_EQ(Run(missed.run_id()).state(), v1::RUN_STATE_FAILED);
  Connect("b");
  store.refuse = true;
  Pass(absl::Seconds(20));
  store.refuse = false;
  EXPECT_EQ(Runs().size(), 1u);
  Pass(absl::Seconds(5));
  ASSERT_EQ(Runs().size(), 2u);
  EXPECT_EQ(Runs()[0].catches_up_run_id, missed.run_id());
}

TEST_F(RunFaultsTest, CancelOutlivesARestart) {
  Connect("a");
  const v1::Run run = MustCreate("one.yaml", "a");
  const std::string plan = run.run_id() + "/0";
  ReportStep("a", plan, v1::STEP_STATUS_OK);
  ASSERT_OK(engine_->Cancel(run.run_id(), {{"admin:bob", ""}}));
  Cut("a");
  Restart();
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_CANCELLED);
  sessions_.Take("ua");
  Connect("a", plan);
  EXPECT_TRUE(TookCancel("a"));
}

TEST_F(RunFaultsTest, CancelSoonAfterARestartStopsWhoIsAtWork) {
  Connect("a");
  const v1::Run run = MustCreate("one.yaml", "a");
  const std::string plan = run.run_id() + "/0";
  ReportStep("a", plan, v1::STEP_STATUS_OK);
  Cut("a");
  Restart();
  sessions_.Take("ua");
  Connect("a", plan);
  ASSERT_OK(engine_->Cancel(run.run_id(), {{"admin:bob", ""}}));
  EXPECT_TRUE(TookCancel("a"));
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_RUNNING);
  ReportOutcome("a", plan, false, /*cancelled=*/true);
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_CANCELLED);
}

TEST_F(RunFaultsTest, StoreFromABackupCatchesUpWithItsAgents) {
  // Plans up to 50 were made after the backup; the first of the new ones waits for the node.
  const v1::Run run = MustCreate("one.yaml", "a");
  Pass(absl::Seconds(1));
  v1::Hello hello;
  hello.set_boot_id("boot");
  hello.set_last_sequence(50);
  sessions_.Connect("ua");
  engine_->OnConnected("ua", hello);
  Pass(absl::Seconds(1));
  const v1::Plan plan = MustTakePlan("a");
  EXPECT_EQ(plan.sequence(), 51u);
  EXPECT_EQ(plan.digest(), PlanDigest(plan));
  EXPECT_EQ(NodeOf("a").plan_sequence, 51u);
  Complete("a", plan.plan_id());
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_SUCCEEDED);
  // An agent that lags behind changes nothing.
  engine_->OnDisconnected("ua");
  hello.set_last_sequence(7);
  engine_->OnConnected("ua", hello);
  EXPECT_EQ(NodeOf("a").plan_sequence, 51u);
  MustCreate("one.yaml", "a");
  EXPECT_EQ(MustTakePlan("a").sequence(), 52u);
}

TEST_F(RunFaultsTest, NodeThatIsNotEnrolledIsSaidToBeSo) {
  site_["one.yaml"] = "only: a z\n";
  Connect("a");
  const v1::Run run = MustCreate("one.yaml");
  Complete("a", run.run_id() + "/0");
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_FAILED);
  EXPECT_THAT(Run(run.run_id()).nodes(1).message(), Said());
}

}  // namespace
}  // namespace muster::controller
