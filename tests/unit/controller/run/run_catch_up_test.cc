#include "common/base/status.h"
#include "controller/run/run_engine.h"
#include "controller/run/run_records.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;

class RunCatchUpTest : public RunFixture {
 protected:
  // A run that a completed and b missed.
  v1::Run MissedByB(bool check_only = false) {
    Connect("a");
    const v1::Run run = MustCreate("one.yaml", "", check_only);
    Complete("a", run.run_id() + "/0");
    Pass(absl::Seconds(10));
    EXPECT_EQ(StateOf(run.run_id(), "b"), "unreachable ok=0 changed=0 failed=0");
    return run;
  }
};

TEST_F(RunCatchUpTest, NodeThatIsBackGetsTheRunItMissed) {
  const v1::Run missed = MissedByB();
  Connect("b");
  Pass(absl::Seconds(4));
  EXPECT_EQ(Runs().size(), 1u);
  Pass(absl::Seconds(1));
  ASSERT_EQ(Runs().size(), 2u);
  const RunRecord record = Runs()[0];
  EXPECT_EQ(record.created_by, "controller");
  EXPECT_EQ(record.catches_up_run_id, missed.run_id());
  EXPECT_EQ(RequestOf(record).limit(), "b");
  EXPECT_EQ(RequestOf(record).bundle_sha256(), "site");
  AnswerFacts(record.run_id, 0);
  Complete("b", MustTakePlan("b").plan_id());
  EXPECT_EQ(Run(record.run_id).state(), v1::RUN_STATE_SUCCEEDED);
  EXPECT_EQ(NodeOf("b").last_run_result, "changed");
  Cut("b");
  Connect("b");
  Pass(absl::Seconds(10));
  EXPECT_EQ(Runs().size(), 2u);
}

// A person can mend the name, and the node must not wait for that.
TEST_F(RunCatchUpTest, AMisspelledVariableOfTheInventoryKeepsNobodyFromCatchingUp) {
  MissedByB();
  compiler_.misspelled = absl::InvalidArgumentError("no role reads 'x'");
  Restart();
  Connect("b");
  Pass(absl::Seconds(5));
  EXPECT_EQ(Runs().size(), 2u);
}

TEST_F(RunCatchUpTest, OnlyAWholeRunOverChosenNodesCountsAsAppliedByThem) {
  const auto applies = [&](const std::string& run_id) {
    for (const RunRecord& run : Runs()) {
      if (run.run_id == run_id) return run.applies.value_or("unknown");
    }
    return std::string("no such run");
  };
  EXPECT_EQ(applies(MissedByB().run_id()), "one.yaml");
  Connect("b");
  Pass(absl::Seconds(5));
  ASSERT_EQ(Runs().size(), 2u);
  const RunRecord caught_up = Runs()[0];
  ASSERT_NE(caught_up.catches_up_run_id, "");
  EXPECT_EQ(applies(caught_up.run_id), "");
  AnswerFacts(caught_up.run_id, 0);
  Complete("b", MustTakePlan("b").plan_id());
  Pass(absl::Seconds(1));

  v1::CreateRunRequest request;
  request.set_bundle_sha256("site");
  request.set_playbook("one.yaml");
  request.set_limit("a");
  const auto create = [&](const RunActor& actor) {
    const absl::StatusOr<v1::Run> run = engine_->Create(request, actor);
    EXPECT_OK(run);
    if (!run.ok()) return std::string();
    AnswerFacts(run->run_id(), 0);
    Complete("a", run->run_id() + "/0");
    Pass(absl::Seconds(1));
    return run->run_id();
  };
  const RunActor alice = {{"admin:alice", ""}};
  RunActor rollout = alice;
  rollout.rollout_id = "u-1";
  EXPECT_EQ(applies(create(alice)), "one.yaml");
  EXPECT_EQ(applies(create(rollout)), "");
  request.add_tags("known");
  EXPECT_EQ(applies(create(alice)), "");
  request.clear_tags();
  request.set_check_only(true);
  EXPECT_EQ(applies(create(alice)), "");
}

TEST_F(RunCatchUpTest, NodesThatComeBackTogetherShareARun) {
  const v1::Run missed = MustCreate("one.yaml");
  Pass(absl::Seconds(10));
  ASSERT_EQ(Run(missed.run_id()).state(), v1::RUN_STATE_FAILED);
  Connect("b");
  Pass(absl::Seconds(2));
  Connect("a");
  Pass(absl::Seconds(10));
  ASSERT_EQ(Runs().size(), 2u);
  EXPECT_EQ(RequestOf(Runs()[0]).limit(), "a,b");
}

TEST_F(RunCatchUpTest, NodeThatIsBackBeforeTheRunEndsIsCaughtUpAfterIt) {
  Connect("a");
  Connect("b");
  const v1::Run run = MustCreate("one.yaml");
  Cut("b");
  Pass(absl::Seconds(16));
  Connect("b");
  Pass(absl::Seconds(20));
  EXPECT_EQ(Runs().size(), 1u);
  Complete("a", run.run_id() + "/0");
  Pass(absl::Seconds(6));
  ASSERT_EQ(Runs().size(), 2u);
  EXPECT_EQ(Runs()[0].catches_up_run_id, run.run_id());
}

TEST_F(RunCatchUpTest, ARunThatIsGivenUpWhileTheNodeWaitsIsNotCaughtUpWith) {
  MissedByB();
  Connect("b");
  Pass(absl::Seconds(2));
  // As the end of its rollout does.
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().GetByName("b"));
    node.last_run_result = "failed";
    return txn.nodes().Put(node);
  }));
  Pass(absl::Seconds(10));
  EXPECT_EQ(Runs().size(), 1u);
}

// As a machine whose root is in memory does after each boot.
TEST_F(RunCatchUpTest, NodeThatHasLostWhatWasAppliedGetsTheNewestWholeRunAgain) {
  Connect("a");
  const v1::Run whole = MustCreate("one.yaml", "a");
  Complete("a", whole.run_id() + "/0");
  Pass(absl::Seconds(1));
  const v1::Run checked = MustCreate("one.yaml", "a", /*check_only=*/true);
  Complete("a", checked.run_id() + "/0");
  Pass(absl::Seconds(1));
  Cut("a");
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().GetByName("a"));
    node.last_run_id = checked.run_id();  // nothing that could be repeated
    node.last_run_result = kRunLost;
    RETURN_IF_ERROR(txn.nodes().Put(node));
    // Drift was looked for ever since.
    ASSIGN_OR_RETURN(RunRecord check, txn.runs().Get(checked.run_id()));
    for (int i = 0; i < 1200; ++i) {
      check.run_id = absl::StrCat("r-check-", i);
      RETURN_IF_ERROR(txn.runs().Put(check));
    }
    return absl::OkStatus();
  }));
  Connect("a");
  Pass(absl::Seconds(6));
  EXPECT_EQ(Runs()[0].catches_up_run_id, whole.run_id());
  EXPECT_EQ(RequestOf(Runs()[0]).limit(), "a");
  Cut("a");
  Connect("a");
  Pass(absl::Seconds(6));
  EXPECT_EQ(Runs()[1].catches_up_run_id, "") << "it is being caught up";
}

TEST_F(RunCatchUpTest, NewerRunTakesItsPlace) {
  MissedByB();
  const v1::Run newer = MustCreate("one.yaml", "b");
  Connect("b");
  Pass(absl::Seconds(8));
  Complete("b", newer.run_id() + "/0");
  Pass(absl::Seconds(8));
  EXPECT_EQ(Runs().size(), 2u);
}

TEST_F(RunCatchUpTest, ChecksAndCancelledRunsAreNotCaughtUp) {
  MissedByB(/*check_only=*/true);
  Connect("b");
  Pass(absl::Seconds(8));
  EXPECT_EQ(Runs().size(), 1u);
  Cut("b");
  const v1::Run run = MustCreate("one.yaml");
  Pass(absl::Seconds(10));
  ASSERT_OK(engine_->Cancel(run.run_id(), {{"admin:alice", ""}}));
  Pass(absl::Seconds(16));
  Connect("b");
  Pass(absl::Seconds(8));
  EXPECT_EQ(Runs().size(), 2u);
}

// The attack: a revoked operator's bundle waits for a node that is away, and then runs as the
// controller's.
TEST_F(RunCatchUpTest, NobodyIsCaughtUpWithARunWhoseCreatorMayNotRunItAnyMore) {
  const v1::Run missed = MissedByB();
  mandate_errors_["admin:alice"] = absl::PermissionDeniedError("alice was revoked");
  for (int i = 0; i < 3; ++i) {
    Connect("b");
    Pass(absl::Seconds(8));
    Cut("b");
  }
  EXPECT_EQ(Runs().size(), 1u);
  const v1::Run told = Run(missed.run_id());
  EXPECT_THAT(told.nodes(1).message(), Said());
  EXPECT_TRUE(told.nodes(1).unreachable());
  EXPECT_EQ(EventsOf("run.catch_up_refused").size(), 1u);
  // Once the approval counts again it is caught up with.
  mandate_errors_.clear();
  Connect("b");
  Pass(absl::Seconds(8));
  ASSERT_EQ(Runs().size(), 2u);
  EXPECT_EQ(Runs()[0].created_by, "controller");
  EXPECT_EQ(Runs()[0].mandate.actor, "admin:alice");
}

// A run that catches up may miss the node again: the creator of the first one still answers for it.
TEST_F(RunCatchUpTest, ARunThatCatchesUpStandsOnTheSameWord) {
  MissedByB();
  Connect("b");
  Pass(absl::Seconds(6));
  ASSERT_EQ(Runs().size(), 2u);
  Cut("b");
  Pass(absl::Seconds(60));
  ASSERT_NE(Runs()[0].state, RunRecord::kRunning);
  mandate_errors_["admin:alice"] = absl::PermissionDeniedError("alice was revoked");
  Connect("b");
  Pass(absl::Seconds(8));
  EXPECT_EQ(Runs().size(), 2u);
}

TEST_F(RunCatchUpTest, ANodeThatOtherWorkHoldsWaitsForItAndTheOthersDoNot) {
  const v1::Run missed = MustCreate("one.yaml");
  Pass(absl::Seconds(10));
  ASSERT_OK(claims_->Claim({"v-1", "validation v-1 tests", "wait for it", clock_.Now()}, {"b"}));
  Connect("a");
  Connect("b");
  Pass(absl::Seconds(6));
  ASSERT_EQ(Runs().size(), 2u);
  EXPECT_EQ(RequestOf(Runs()[0]).limit(), "a");
  Pass(absl::Minutes(5));
  EXPECT_EQ(Runs().size(), 2u);
  EXPECT_THAT(EventsOf("run.catch_up_refused"), ::testing::IsEmpty());
  claims_->Release("v-1");
  Pass(kCatchUpBusyDelay);
  ASSERT_EQ(Runs().size(), 3u);
  EXPECT_EQ(Runs()[0].catches_up_run_id, missed.run_id());
  EXPECT_EQ(RequestOf(Runs()[0]).limit(), "b");
}

TEST_F(RunCatchUpTest, ANodeThatTheInventoryHasDroppedCostsOnlyItsOwnCatchUp) {
  const v1::Run missed = MustCreate("one.yaml");
  Pass(absl::Seconds(10));
  UseInventory("nodes: {a: {role: compute}, c: {role: compute}}\n");
  Connect("a");
  Connect("b");
  Pass(absl::Seconds(6));
  ASSERT_EQ(Runs().size(), 2u);
  EXPECT_EQ(Runs()[0].catches_up_run_id, missed.run_id());
  EXPECT_EQ(RequestOf(Runs()[0]).limit(), "a");
  EXPECT_EQ(EventsOf("run.catch_up_refused").size(), 1u);
  // Once it is back in the inventory it is caught up with.
  UseInventory("nodes: {a: {role: compute}, b: {role: compute}, c: {role: compute}}\n");
  Cut("b");
  Connect("b");
  Pass(absl::Seconds(6));
  ASSERT_EQ(Runs().size(), 3u);
  EXPECT_EQ(RequestOf(Runs()[0]).limit(), "b");
}

TEST_F(RunCatchUpTest, ANodeThatIsCheckedIsCaughtUpAfterwards) {
  const v1::Run missed = MissedByB();
  Connect("b");
  const v1::Run check = MustCreate("one.yaml", "b", /*check_only=*/true);
  Pass(absl::Seconds(6));
  EXPECT_EQ(Runs().size(), 2u);
  Complete("b", check.run_id() + "/0");
  Pass(kCatchUpBusyDelay);
  ASSERT_EQ(Runs().size(), 3u);
  EXPECT_EQ(Runs()[0].catches_up_run_id, missed.run_id());
}

TEST_F(RunCatchUpTest, ANodeThatGoesWhileItWaitsIsCaughtUpWhenItIsBack) {
  MissedByB();
  ASSERT_OK(claims_->Claim({"v-1", "validation v-1 tests", "wait for it", clock_.Now()}, {"b"}));
  Connect("b");
  Pass(absl::Seconds(6));
  Cut("b");
  claims_->Release("v-1");
  Pass(absl::Minutes(1));
  EXPECT_EQ(Runs().size(), 1u);
  Connect("b");
  Pass(absl::Seconds(6));
  EXPECT_EQ(Runs().size(), 2u);
}

TEST_F(RunCatchUpTest, RestartOfTheControllerForgetsNoNode) {
  MissedByB();
  Restart();
  Connect("b");
  Pass(absl::Seconds(6));
  EXPECT_EQ(Runs().size(), 2u);
}

}  // namespace
}  // namespace muster::controller
