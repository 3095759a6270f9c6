// Rollouts that are to end before all nodes are updated: by an abort, or because their creator may
// not go on; and those that are halted.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/gate/node_holds.h"
#include "controller/rollout/rollout_halt.h"
#include "controller/rollout/rollout_manager.h"
#include "controller/rollout/rollout_records.h"
#include "controller/run/run_engine.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/rollout/rollout_cluster.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RolloutManager, AnAbortFinishesWhatItHasBegun) {
  Cluster cluster;
  cluster.work_ends_ = false;
  const std::string id = cluster.Create(cluster.Request());
  for (int i = 0; i < 10; ++i) cluster.Second();
  ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kAborted, "", cluster.Ann()).status());
  cluster.work_ends_ = true;
  const v1::Rollout ended = cluster.Await(id);
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_ABORTED);
  EXPECT_EQ(ended.nodes(0).step(), v1::ROLLOUT_STEP_DONE);
  EXPECT_EQ(ended.nodes(1).step(), v1::ROLLOUT_STEP_SKIPPED);
  EXPECT_THAT(cluster.manager_->Change(id, RolloutEvent::kResumed, "", cluster.Ann()),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

// The run waits for other work on the node.
TEST(RolloutManager, AnAbortBeginsNothing) {
  Cluster cluster;
  cluster.refuse_runs_ = absl::FailedPreconditionError("run r-9 of admin:bob has c001");
  const std::string id = cluster.Create(cluster.Request());
  for (int i = 0; i < 10; ++i) cluster.Second();
  ASSERT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_APPLYING);
  ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kAborted, "", cluster.Ann()).status());
  cluster.refuse_runs_ = absl::OkStatus();
  const v1::Rollout ended = cluster.Await(id);
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_ABORTED);
  EXPECT_EQ(ended.nodes(0).step(), v1::ROLLOUT_STEP_SKIPPED);
  EXPECT_THAT(cluster.RunsOf("c001"), IsEmpty());
  EXPECT_EQ(cluster.HoldCount(), 0);
}

// A node that is given back under its run would get jobs.
TEST(RolloutManager, AnAbortFinishesARunThatCouldNotBeStored) {
  Cluster cluster;
  cluster.refuse_runs_ = absl::FailedPreconditionError("run r-9 of admin:ann has c001");
  const std::string id = cluster.Create(cluster.Request());
  for (int i = 0; i < 10; ++i) cluster.Second();
  ASSERT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_APPLYING);
  cluster.AddRun("r-9", kNewBundle, "c001", "admin:ann");
  ASSERT_OK(cluster.store_.below().Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(RunRecord run, txn.runs().Get("r-9"));
    run.state = RunRecord::kRunning;
    RETURN_IF_ERROR(txn.runs().Put(run));
    RunNodeRecord node;
    node.run_id = "r-9";
    node.node = "c001";
    return txn.runs().PutNode(node);
  }));
  cluster.work_ends_ = false;
  ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kAborted, "", cluster.Ann()).status());
  for (int i = 0; i < 5; ++i) cluster.Second();
  EXPECT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_APPLYING);
  EXPECT_EQ(cluster.Get(id).nodes(0).run_id(), "r-9");
  EXPECT_FALSE(cluster.slurm_.nodes["c001"].takes_jobs);
  cluster.work_ends_ = true;
  const v1::Rollout ended = cluster.Await(id);
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_ABORTED);
  EXPECT_EQ(ended.nodes(0).step(), v1::ROLLOUT_STEP_DONE);
}

// What it wanted may be as old as a backup.
TEST(RolloutManager, AHaltedRolloutDoesNothingBeforeItIsResumed) {
  for (const v1::RolloutStep step :
       {v1::ROLLOUT_STEP_DRAINING, v1::ROLLOUT_STEP_APPLYING, v1::ROLLOUT_STEP_VALIDATING}) {
    SCOPED_TRACE(StepName(step));
    const bool drains = step == v1::ROLLOUT_STEP_DRAINING;
    Cluster cluster;
    if (drains) {
      for (int i = 1; i <= kNodes; ++i) cluster.slurm_.jobs[Cluster::Name(i)] = {{"11", "", ""}};
    }
    // Its run has yet to begin.
    if (step == v1::ROLLOUT_STEP_APPLYING)
      cluster.refuse_runs_ = absl::FailedPreconditionError("busy");
    const std::string id = cluster.Create(cluster.Request());
    for (int i = 0; i < 60 && cluster.Get(id).nodes(0).step() != step; ++i) cluster.Second();
    ASSERT_EQ(cluster.Get(id).nodes(0).step(), step);
    cluster.Kill();
    const auto halted = HaltOpen(cluster.store_, "when the backup was made", cluster.clock_.Now());
    ASSERT_OK(halted);
    EXPECT_EQ(*halted, 1u);
    cluster.slurm_.jobs.clear();
    cluster.refuse_runs_ = absl::OkStatus();
    const size_t begun = cluster.asked_runs_.size();
    cluster.Boot();
    for (int i = 0; i < 60; ++i) cluster.Second();
    const v1::Rollout now = cluster.Get(id);
    EXPECT_EQ(now.state(), v1::ROLLOUT_STATE_PAUSED);
    EXPECT_EQ(now.events().rbegin()->state(), v1::ROLLOUT_STATE_PAUSED);
    EXPECT_THAT(now.message(), HasSubstr("was open when the backup was made"));
    EXPECT_EQ(now.nodes(0).step(), drains ? v1::ROLLOUT_STEP_PENDING : v1::ROLLOUT_STEP_FAILED);
    EXPECT_EQ(cluster.slurm_.nodes["c001"].takes_jobs, drains);
    EXPECT_EQ(cluster.asked_runs_.size(), begun);
    // Failures of this kind do not count, and their nodes are somebody's to look after.
    ASSERT_OK(cluster.store_.Update([&](Transaction& txn) {
      return validation::FreeNodes(txn, {"c001"}, {"admin:bob", ""}, "", cluster.clock_.Now());
    }));
    ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kResumed, "", cluster.Ann()).status());
    EXPECT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_COMPLETED);
  }
}

TEST(RolloutManager, AHaltedRollbackBeginsNoOtherRollout) {
  Cluster cluster;
  cluster.work_ends_ = false;
  const std::string id = cluster.Create(cluster.Request());
  for (int i = 0; i < 10; ++i) cluster.Second();
  ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kRolledBack, "", cluster.Ann()).status());
  ASSERT_EQ(cluster.Get(id).state(), v1::ROLLOUT_STATE_ROLLING_BACK);
  cluster.Kill();
  ASSERT_OK(HaltOpen(cluster.store_, "when the backup was made", cluster.clock_.Now()));
  cluster.Boot();
  cluster.work_ends_ = true;
  EXPECT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_ABORTED);
  EXPECT_THAT(cluster.Rollouts(), ::testing::SizeIs(1));
}

const absl::Status kRevoked =
    absl::PermissionDeniedError("the certificate of admin:ann, who requested it, was revoked");

TEST(RolloutManager, WhoMayNotContinueHasNoFurtherNodeTaken) {
  Cluster cluster;
  for (int i = 1; i <= kNodes; ++i) cluster.slurm_.jobs[Cluster::Name(i)] = {{"11", "eve", "x"}};
  const std::string id = cluster.Create(cluster.Request());
  for (int i = 0; i < 5; ++i) cluster.Second();
  ASSERT_EQ(cluster.HoldCount(), 1);
  cluster.may_continue_ = kRevoked;
  cluster.slurm_.jobs.clear();
  v1::Rollout now = cluster.Await(id);
  EXPECT_EQ(now.state(), v1::ROLLOUT_STATE_PAUSED);
  EXPECT_THAT(now.message(),
              ::testing::AllOf(HasSubstr("was revoked"), HasSubstr("muster rollout abort " + id)));
  for (const v1::RolloutNode& node : now.nodes())
    EXPECT_EQ(node.step(), v1::ROLLOUT_STEP_PENDING) << node.node();
  EXPECT_EQ(cluster.HoldCount(), 0);
  EXPECT_THAT(cluster.asked_runs_, IsEmpty());
  // Resuming does not help, but another certificate in place of one that has expired does.
  ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kResumed, "", cluster.Ann()).status());
  EXPECT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_PAUSED);
  cluster.may_continue_ = absl::OkStatus();
  ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kResumed, "", cluster.Ann()).status());
  EXPECT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_COMPLETED);
}

TEST(RolloutManager, AnAbortEndsWhatItsCreatorMayNotContinue) {
  Cluster cluster;
  cluster.refuse_runs_ = absl::FailedPreconditionError("run r-9 of admin:bob has c001");
  const std::string id = cluster.Create(cluster.Request());
  for (int i = 0; i < 10; ++i) cluster.Second();
  ASSERT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_APPLYING);
  cluster.may_continue_ = kRevoked;
  cluster.refuse_runs_ = absl::OkStatus();
  ASSERT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_PAUSED);
  for (int i = 0; i < 5; ++i) cluster.Second();
  EXPECT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_APPLYING);
  EXPECT_THAT(cluster.Get(id).nodes(0).message(), HasSubstr("was revoked"));
  ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kAborted, "", cluster.Ann()).status());
  const v1::Rollout ended = cluster.Await(id);
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_ABORTED);
  EXPECT_EQ(ended.nodes(0).step(), v1::ROLLOUT_STEP_SKIPPED);
  EXPECT_THAT(cluster.asked_runs_, IsEmpty());
  EXPECT_EQ(cluster.HoldCount(), 0);
}

TEST(RolloutManager, WhatIsUpdatedAndMayNotBeValidatedFailsWithTheAbort) {
  Cluster cluster;
  cluster.work_ends_ = false;
  const std::string id = cluster.Create(cluster.Request());
  for (int i = 0; i < 10; ++i) cluster.Second();
  ASSERT_NE(cluster.Get(id).nodes(0).run_id(), "");
  cluster.may_continue_ = kRevoked;
  cluster.work_ends_ = true;
  ASSERT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_PAUSED);
  for (int i = 0; i < 5; ++i) cluster.Second();
  EXPECT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_VALIDATING);
  EXPECT_EQ(cluster.Get(id).nodes(0).validation_id(), "");
  ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kAborted, "", cluster.Ann()).status());
  const v1::Rollout ended = cluster.Await(id);
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_ABORTED);
  EXPECT_EQ(ended.nodes(0).step(), v1::ROLLOUT_STEP_FAILED);
  EXPECT_THAT(ended.nodes(0).message(), HasSubstr("was revoked"));
  EXPECT_EQ(cluster.HoldCount(), 1) << "what was not tested stays out";
}

}  // namespace
}  // namespace muster::controller::rollout
