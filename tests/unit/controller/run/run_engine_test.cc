#include "controller/run/run_engine.h"

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/run/plan/plan_finish.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using RunEngineTest = RunFixture;

TEST_F(RunEngineTest, WalksThroughAllPlays) {
  for (const char* name : {"a", "b", "c"}) Connect(name);
  const v1::Run run = MustCreate("two.yaml");
  EXPECT_EQ(run.state(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(run.inventory_revision(), 7u);
  EXPECT_THAT(run.plays(), ElementsAre("first", "second"));
  const std::string first = run.run_id() + "/0", second = run.run_id() + "/1";
  v1::Plan plan = MustTakePlan("a");
  EXPECT_EQ(plan.plan_id(), first);
  EXPECT_EQ(plan.node_uuid(), "ua");
  EXPECT_EQ(plan.play_name(), "first");
  EXPECT_EQ(plan.sequence(), 1u);
  EXPECT_EQ(plan.expires_at().seconds(), absl::ToUnixSeconds(clock_.Now() + absl::Hours(24)));
  EXPECT_EQ(plan.roles(0).steps(0).hostname().name(), "host-a");
  EXPECT_EQ(plan.digest(), PlanDigest(plan));
  Complete("a", first);
  EXPECT_EQ(Run(run.run_id()).current_play(), 0u);
  Complete("b", first);
  AnswerFacts(run.run_id(), 1);
  plan = MustTakePlan("a");
  EXPECT_EQ(plan.plan_id(), second);
  EXPECT_EQ(plan.sequence(), 2u);
  for (const char* name : {"a", "b", "c"}) Complete(name, second);
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_SUCCEEDED);
  EXPECT_EQ(StateOf(run.run_id(), "a"), "done ok=0 changed=2 failed=0");
  EXPECT_EQ(StateOf(run.run_id(), "c"), "done ok=0 changed=1 failed=0");
  const NodeRecord node = NodeOf("a");
  EXPECT_EQ(node.state, NodeRecord::kConfigured);
  EXPECT_EQ(node.last_run_id, run.run_id());
  EXPECT_EQ(node.last_run_result, "changed");
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto events, txn.events().List(10, 0));
    EXPECT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].action, "run.finish");
    EXPECT_EQ(events[1].action, "run.create");
    EXPECT_EQ(events[1].actor, "admin:alice");
    EXPECT_EQ(events[1].detail, "two.yaml on a,b,c");
    return absl::OkStatus();
  }));
}

TEST_F(RunEngineTest, AMisspelledVariableRefusesTheRunsOfPeopleAlone) {
  Connect("a");
  compiler_.misspelled = absl::InvalidArgumentError("no role reads 'x'");
  v1::CreateRunRequest request;
  request.set_bundle_sha256("site");
  request.set_playbook("one.yaml");
  const RunActor person = {{"admin:alice", "ipv4:10.0.0.1:1"}};
  for (const bool check_only : {true, false}) {
    request.set_check_only(check_only);
    EXPECT_THAT(engine_->Create(request, person).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, "no role reads 'x'"));
  }
  EXPECT_THAT(engine_->Preview(request, person).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "no role reads 'x'"));
  EXPECT_THAT(Runs(), IsEmpty());
  RunActor rollout = {{"admin:alice", ""}};
  rollout.rollout_id = "u-1";
  ASSERT_OK(engine_->Create(request, rollout).status());
  Restart();
  EXPECT_EQ(Runs().front().state, RunRecord::kRunning) << "the same run, after a restart";
}

TEST_F(RunEngineTest, ErrorsOfThePlaybookComeBackAndNothingIsStored) {
  v1::CreateRunRequest request;
  request.set_bundle_sha256("site");
  request.set_playbook("nowhere.yaml");
  EXPECT_THAT(engine_->Create(request, {{"admin:alice", ""}}).status(),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  request.set_playbook("one.yaml");
  request.set_limit("c");
  EXPECT_THAT(engine_->Create(request, {{"admin:alice", ""}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  request.set_limit("");
  request.add_tags("nosuch");
  EXPECT_THAT(engine_->Create(request, {{"admin:alice", ""}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  request.clear_tags();
  (*request.mutable_extra_vars())["x"] = "{";
  EXPECT_THAT(engine_->Create(request, {{"admin:alice", ""}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  request.clear_extra_vars();
  request.set_bundle_sha256("other");
  EXPECT_THAT(engine_->Create(request, {{"admin:alice", ""}}).status(),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_TRUE(Runs().empty());
}

TEST_F(RunEngineTest, RunsOverTheSameNodesExcludeEachOther) {
  for (const char* name : {"a", "b", "c"}) Connect(name);
  const v1::Run first = MustCreate("one.yaml", "b");
  v1::CreateRunRequest request;
  request.set_bundle_sha256("site");
  request.set_playbook("two.yaml");
  request.set_check_only(true);
  clock_.Advance(absl::Seconds(3));
  EXPECT_THAT(
      engine_->Create(request, {{"admin:bob", ""}}).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(Said(), HasSubstr(first.run_id()))));
  v1::PlanReceipt receipt;
  receipt.set_plan_id(first.run_id() + "/0");
  receipt.set_accepted(true);
  engine_->OnPlanReceipt("ub", receipt);
  ASSERT_OK(engine_->Cancel(first.run_id(), {{"admin:alice", ""}}));
  EXPECT_THAT(engine_->Create(request, {{"admin:bob", ""}}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  MustCreate("one.yaml", "a");
  Complete("b", first.run_id() + "/0");
  MustCreate("one.yaml", "b");
}

// Earlier, each run of a rollout asked the whole cluster.
TEST_F(RunEngineTest, ARunOverOneNodeAsksOthersOnlyForOldFacts) {
  for (const char* name : {"a", "b", "c"}) Connect(name);
  const auto begin = [this](const std::string& node) {
    return MustCreate("one.yaml", node).run_id() + "/0";
  };
  const std::string first = begin("a");
  EXPECT_THAT(AskedForFacts(), ElementsAre("a", "b", "c"));
  ReportStep("a", first, v1::STEP_STATUS_OK);
  ReportOutcome("a", first, true);
  const std::string second = begin("b");
  EXPECT_THAT(AskedForFacts(), ElementsAre("b"));
  Complete("b", second);
  const std::string third = begin("a");
  EXPECT_THAT(AskedForFacts(), ElementsAre("a", "b")) << "b was changed";
  ReportStep("a", third, v1::STEP_STATUS_FAILED);
  ReportOutcome("a", third, false);
  Cut("c");
  Connect("c");
  const std::string fourth = begin("b");
  EXPECT_THAT(AskedForFacts(), ElementsAre("a", "b", "c")) << "c may have booted";
  ReportOutcome("b", fourth, true);
  clock_.Advance(kFactsFreshOutside);
  const std::string fifth = begin("a");
  EXPECT_THAT(AskedForFacts(), ElementsAre("a", "b", "c"));
  ReportOutcome("a", fifth, true);
  Restart();
  begin("b");
  EXPECT_THAT(AskedForFacts(), ElementsAre("a", "b", "c")) << "nothing is known after a restart";
}

TEST_F(RunEngineTest, RunsThatBeginTogetherAwaitTheSameAnswers) {
  for (const char* name : {"a", "b", "c"}) Connect(name);
  const auto begin = [this](const std::string& node) {
    v1::CreateRunRequest request;
    request.set_bundle_sha256("site");
    request.set_playbook("one.yaml");
    request.set_limit(node);
    const auto run = engine_->Create(request, {{"admin:alice", ""}});
    EXPECT_OK(run);
    return run.ok() ? run->run_id() + "/0" : "";
  };
  const std::string first = begin("a");
  EXPECT_THAT(AskedForFacts(), ElementsAre("a", "b", "c"));
  const std::string second = begin("b");
  EXPECT_THAT(AskedForFacts(), ElementsAre("b"));
  engine_->OnFacts("ua", first);
  engine_->OnFacts("ub", first);
  engine_->OnFacts("uc", first);
  EXPECT_EQ(MustTakePlan("a").plan_id(), first);
  EXPECT_THAT(sessions_.Take("ub"), IsEmpty()) << "it has not told the run that works on it";
  engine_->OnFacts("ub", second);
  EXPECT_EQ(MustTakePlan("b").plan_id(), second);
  // The question of a run that has ended is answered for the others.
  Connect("c");
  ReportOutcome("a", first, true);
  const std::string third = begin("a");
  EXPECT_THAT(AskedForFacts(), ElementsAre("a", "c"));
  Complete("b", second);
  sessions_.Take("ub");
  const std::string fourth = begin("b");
  EXPECT_THAT(AskedForFacts(), ElementsAre("b"));
  ASSERT_OK(engine_->Cancel(third.substr(0, third.find('/')), {{"admin:alice", ""}}));
  engine_->OnFacts("ua", third);
  engine_->OnFacts("ub", fourth);
  EXPECT_THAT(sessions_.Take("ub"), IsEmpty());
  engine_->OnFacts("uc", third);
  EXPECT_EQ(MustTakePlan("b").plan_id(), fourth);
}

// Earlier, one busy node refused the call for all others.
TEST_F(RunEngineTest, BusyNodesAreLeftOutAndNamed) {
  for (const char* name : {"a", "b", "c"}) Connect(name);
  site_["all.yaml"] = "only: a b c\n";
  const v1::Run first = MustCreate("one.yaml", "b");
  ASSERT_OK(claims_->Claim({"v-1", "validation v-1 tests", "wait for it", clock_.Now()}, {"c"}));
  v1::CreateRunRequest request;
  request.set_bundle_sha256("site");
  request.set_playbook("all.yaml");
  // The caller first learns of all of them.
  const std::vector<v1::BusyNodes> busy =
      BusyNodesOf(engine_->Create(request, {{"admin:bob", ""}}).status());
  ASSERT_EQ(busy.size(), 2u);
  EXPECT_EQ(busy[0].nodes(), "b");
  EXPECT_THAT(busy[0].reason(),
              AllOf(Said(), HasSubstr("run " + first.run_id() + " of admin:alice")));
  EXPECT_EQ(busy[1].nodes(), "c");
  EXPECT_THAT(busy[1].reason(), Said());

  request.set_leave_out_busy(true);
  request.add_left_out()->set_nodes("nobody's to say");
  const auto run = engine_->Create(request, {{"admin:bob", ""}});
  ASSERT_OK(run);
  ASSERT_EQ(run->nodes_size(), 1);
  EXPECT_EQ(run->nodes(0).node(), "a");
  ASSERT_EQ(run->left_out_size(), 2);
  EXPECT_EQ(run->left_out(0).nodes(), "b");
  EXPECT_EQ(run->left_out(1).nodes(), "c");
  AnswerFacts(run->run_id(), 0);
  Complete("a", run->run_id() + "/0");
  EXPECT_EQ(Run(run->run_id()).state(), v1::RUN_STATE_SUCCEEDED);
  EXPECT_EQ(Run(run->run_id()).left_out_size(), 2) << "a later look names them, too";
}

TEST_F(RunEngineTest, ARunWithBusyNodesAloneIsRefused) {
  for (const char* name : {"a", "b", "c"}) Connect(name);
  MustCreate("one.yaml", "b");
  v1::CreateRunRequest request;
  request.set_bundle_sha256("site");
  request.set_playbook("one.yaml");
  request.set_limit("b");
  request.set_leave_out_busy(true);
  const absl::Status refused = engine_->Create(request, {{"admin:bob", ""}}).status();
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_TRUE(BusyNodesOf(refused).empty()) << "there is nobody to go on with";
}

TEST_F(RunEngineTest, ChecksGoOnBesideValidationsAndApplyDoesNot) {
  for (const char* name : {"a", "b", "c"}) Connect(name);
  site_["all.yaml"] = "only: a b c\n";
  ASSERT_OK(claims_->Claim({"v-1", "validation v-1 tests", "wait for it", clock_.Now()},
                           {"a", "b", "c"}));
  v1::CreateRunRequest request;
  request.set_bundle_sha256("site");
  request.set_playbook("all.yaml");
  EXPECT_THAT(engine_->Create(request, {{"admin:bob", ""}}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  request.set_check_only(true);
  const auto check = engine_->Create(request, {{"admin:bob", ""}});
  ASSERT_OK(check);
  EXPECT_EQ(check->left_out_size(), 0);
  // The check holds nothing: the validation may claim again, and more.
  claims_->Release("v-1");
  EXPECT_OK(claims_->Claim({"v-2", "", "", clock_.Now()}, {"a", "b", "c"}));
}

TEST_F(RunEngineTest, FailedNodeIsNamedAndTheOthersGoOn) {
  for (const char* name : {"a", "b", "c"}) Connect(name);
  const v1::Run run = MustCreate("two.yaml");
  ReportStep("a", run.run_id() + "/0", v1::STEP_STATUS_FAILED);
  ReportOutcome("a", run.run_id() + "/0", false);
  Complete("b", run.run_id() + "/0");
  AnswerFacts(run.run_id(), 1);
  Complete("b", run.run_id() + "/1");
  Complete("c", run.run_id() + "/1");
  const v1::Run end = Run(run.run_id());
  EXPECT_EQ(end.state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(StateOf(run.run_id(), "a"), "failed ok=0 changed=0 failed=1");
  EXPECT_EQ(end.nodes(0).message(), "role: step: E: no such package");
  EXPECT_EQ(NodeOf("a").last_run_result, "failed");
  EXPECT_EQ(NodeOf("a").state, NodeRecord::kEnrolled);
}

TEST_F(RunEngineTest, CompileErrorFailsOneNode) {
  for (const char* name : {"a", "b"}) Connect(name);
  compiler_.errors["a"] = absl::InvalidArgumentError("x.yaml:1:2: undefined variable 'y'");
  const v1::Run run = MustCreate("one.yaml");
  Complete("b", run.run_id() + "/0");
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(Run(run.run_id()).nodes(0).message(), "x.yaml:1:2: undefined variable 'y'");
  EXPECT_EQ(NodeOf("a").plan_sequence, 0u);
}

TEST_F(RunEngineTest, CheckLeavesNodesAsTheyAre) {
  for (const char* name : {"a", "b"}) Connect(name);
  const v1::Run run = MustCreate("one.yaml", "", /*check_only=*/true);
  EXPECT_TRUE(MustTakePlan("a").check_only());
  Complete("a", run.run_id() + "/0");
  Complete("b", run.run_id() + "/0");
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_SUCCEEDED);
  EXPECT_EQ(NodeOf("a").state, NodeRecord::kEnrolled);
  EXPECT_EQ(NodeOf("a").last_run_id, "");
}

TEST_F(RunEngineTest, UnchangedStepsOfACheckThatComesAgainAreCountedAndNotKept) {
  for (const char* name : {"a", "b"}) Connect(name);
  v1::CreateRunRequest request;
  request.set_bundle_sha256("site");
  request.set_playbook("one.yaml");
  request.set_keep_changes_only(true);
  for (const bool check_only : {true, false}) {
    SCOPED_TRACE(check_only);
    request.set_check_only(check_only);
    const std::string node = check_only ? "a" : "b";
    request.set_limit(node);
    const auto run = engine_->Create(request, {{"admin:bob", ""}});
    ASSERT_OK(run.status());
    AnswerFacts(run->run_id(), 0);
    const std::string plan = run->run_id() + "/0";
    ReportStep(node, plan, v1::STEP_STATUS_OK, "role/first");
    ReportStep(node, plan, v1::STEP_STATUS_CHANGED, "role/second");
    ReportOutcome(node, plan, true);
    EXPECT_EQ(StateOf(run->run_id(), node), "done ok=1 changed=1 failed=0");
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto kept, txn.step_results().List(run->run_id(), node));
      EXPECT_EQ(kept.size(), check_only ? 1u : 2u);
      EXPECT_EQ(kept.back().step_id, "role/second");
      return absl::OkStatus();
    }));
  }
}

TEST_F(RunEngineTest, DuplicateReportsCountOnceAndAreAcknowledged) {
  Connect("a");
  Connect("b");
  const v1::Run run = MustCreate("one.yaml");
  const std::string plan = run.run_id() + "/0";
  sessions_.Take("ua");
  ReportStep("a", plan, v1::STEP_STATUS_OK);
  report_sequence_["a"] = 0;
  ReportStep("a", plan, v1::STEP_STATUS_OK);
  const auto answers = sessions_.Take("ua");
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1].reports_stored().up_to_sequence(), 1u);
  EXPECT_EQ(StateOf(run.run_id(), "a"), "running ok=1 changed=0 failed=0");
  // The same step again, as after a crash of the agent, replaces the first result.
  ReportStep("a", plan, v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(StateOf(run.run_id(), "a"), "running ok=0 changed=1 failed=0");
}

TEST_F(RunEngineTest, LargeContentsTravelAsBlobs) {
  Connect("a");
  compiler_.blob_bytes = 4 << 20;
  const v1::Run run = MustCreate("one.yaml", "a");
  const v1::Plan plan = MustTakePlan("a");
  const std::string sha256 = plan.roles(0).steps(1).file().blob_sha256();
  EXPECT_EQ(blobs_[sha256].size(), size_t{4} << 20);
  EXPECT_EQ(BlobsOf("a"), sha256);
  EXPECT_EQ(BlobsOf("b"), "");
}

TEST_F(RunEngineTest, CancelledRunStopsAtItsNodes) {
  for (const char* name : {"a", "b", "c"}) Connect(name);
  const v1::Run run = MustCreate("two.yaml");
  const std::string plan = run.run_id() + "/0";
  ReportStep("a", plan, v1::STEP_STATUS_OK);
  ReportStep("b", plan, v1::STEP_STATUS_OK);
  Complete("b", plan);
  ASSERT_OK(engine_->Cancel(run.run_id(), {{"admin:bob", ""}}));
  EXPECT_TRUE(TookCancel("a"));
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_RUNNING);
  ReportOutcome("a", plan, false, /*cancelled=*/true);
  const v1::Run end = Run(run.run_id());
  EXPECT_EQ(end.state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(end.message(), "cancelled by admin:bob");
  EXPECT_EQ(StateOf(run.run_id(), "c"), "cancelled ok=0 changed=0 failed=0");
  EXPECT_THAT(engine_->Cancel(run.run_id(), {{"admin:bob", ""}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(engine_->Cancel("r-none", {{"admin:bob", ""}}),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(RunEngineTest, RefusedPlanFailsTheNodeWithTheReason) {
  Connect("a");
  const v1::Run run = MustCreate("one.yaml", "a");
  v1::PlanReceipt receipt;
  receipt.set_plan_id(run.run_id() + "/0");
  receipt.set_reason("plan is for another node");
  engine_->OnPlanReceipt("ua", receipt);
  EXPECT_THAT(Run(run.run_id()).nodes(0).message(), Said());
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_FAILED);
}

}  // namespace
}  // namespace muster::controller
