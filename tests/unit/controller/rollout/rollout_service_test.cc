// Whether a node serves again after its update: it is given back, or somebody else has it out of
// service, or it is not the node that has passed.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "controller/gate/node_holds.h"
#include "controller/gate/service_gate.h"
#include "controller/rollout/rollout_manager.h"
#include "controller/rollout/rollout_records.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/rollout.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/rollout/rollout_cluster.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RolloutManager, TheNextNodeWaitsUntilSlurmReachesTheLast) {
  Cluster cluster;
  const std::string id = cluster.Create(cluster.Request());
  cluster.slurm_.is_silent = true;
  for (int i = 0; i < 60; ++i) cluster.Second();
  // It was idle* from the moment in which it was given back.
  EXPECT_TRUE(cluster.slurm_.nodes["c001"].takes_jobs);
  EXPECT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_RESUMING);
  EXPECT_EQ(cluster.Get(id).nodes(1).step(), v1::ROLLOUT_STEP_PENDING);
  const auto explained = cluster.manager_->Explain("c001", "");
  ASSERT_OK(explained.status());
  EXPECT_THAT(explained->explanation(), Said());
  cluster.slurm_.is_silent = false;
  for (int i = 0; i < 3; ++i) cluster.Second();
  EXPECT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_DONE);
  EXPECT_EQ(cluster.Get(id).nodes(1).step(), v1::ROLLOUT_STEP_DRAINING);
  // One that stays silent does not stop the rollout for ever.
  cluster.slurm_.is_silent = true;
  for (int i = 0; i < 320; ++i) cluster.Second();
  EXPECT_EQ(cluster.Get(id).nodes(1).step(), v1::ROLLOUT_STEP_DONE);
  EXPECT_THAT(cluster.Get(id).nodes(1).message(), Said());
}

// As slurmctld has a node whose slurmd does not answer any more.
void TakeDown(Cluster& cluster, const std::string& node) {
  cluster.slurm_.nodes[node] = {
      .name = node, .state = "DOWN*", .reason = "Not responding", .reason_user = "slurm"};
}

TEST(RolloutManager, ANodeThatStaysDownAfterItWasGivenBackFails) {
  Cluster cluster;
  const std::string id = cluster.Create(cluster.Request());
  cluster.slurm_.is_silent = true;
  for (int i = 0; i < 60; ++i) cluster.Second();
  ASSERT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_RESUMING);
  TakeDown(cluster, "c001");
  for (int i = 0; i < 60; ++i) cluster.Second();
  EXPECT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_RESUMING) << "it may still come";
  const v1::Rollout paused = cluster.Await(id);
  EXPECT_EQ(paused.state(), v1::ROLLOUT_STATE_PAUSED);
  EXPECT_EQ(paused.nodes(0).step(), v1::ROLLOUT_STEP_FAILED);
  EXPECT_THAT(paused.nodes(0).message(), ::testing::AllOf(HasSubstr("DOWN* (Not responding)"),
                                                          HasSubstr("muster node resume c001")));
  EXPECT_EQ(paused.nodes(1).step(), v1::ROLLOUT_STEP_PENDING);
  EXPECT_EQ(cluster.HoldCount(), 1);
  ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kAborted, "", cluster.Ann()).status());
  EXPECT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_ABORTED);
}

TEST(RolloutManager, ANodeThatWasDownBeforeMayStayDown) {
  Cluster cluster;
  TakeDown(cluster, "c001");
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_limit("c001");
  const std::string id = cluster.Create(request);
  cluster.slurm_.is_silent = true;
  for (int i = 0; i < 60; ++i) cluster.Second();
  ASSERT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_RESUMING);
  TakeDown(cluster, "c001");
  const v1::Rollout ended = cluster.Await(id);
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(ended.nodes(0).step(), v1::ROLLOUT_STEP_DONE);
  EXPECT_EQ(ended.nodes(0).message(), "stays out of service, as it was: DOWN* (Not responding)");
  EXPECT_EQ(cluster.HoldCount(), 0);
}

TEST(RolloutManager, PeoplesDrainsStay) {
  Cluster cluster;
  cluster.slurm_.DrainBy("root", "c001", "bad disk");
  ASSERT_OK(cluster.store_.below().Update([&](Transaction& txn) {
    return validation::HoldNodes(txn, {"c002"}, {"admin:bob", ""}, "bad fan", cluster.clock_.Now());
  }));
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_max_unavailable("3");
  EXPECT_EQ(cluster.Await(cluster.Create(request)).state(), v1::ROLLOUT_STATE_COMPLETED);
  cluster.Second();
  EXPECT_EQ(cluster.gate_->ServiceOf("c001"), "drained by root: bad disk");
  EXPECT_EQ(cluster.gate_->ServiceOf("c002"), "drained by bob: bad fan");
  EXPECT_EQ(cluster.gate_->ServiceOf("c003"), "in service");
}

// Drained by slurmctld when it registers with less memory than slurm.conf says, or by a prolog.
TEST(RolloutManager, ANodeThatSlurmTakesOutDuringItsUpdateFails) {
  Cluster cluster;
  cluster.slurm_.DrainBy("slurm", "c002", "gres/gpu count too low");
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_max_unavailable("3");
  request.set_failure_budget(1);
  const std::string id = cluster.Create(request);
  cluster.work_ends_ = false;
  for (int i = 0; i < 10; ++i) cluster.Second();
  ASSERT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_APPLYING);
  cluster.slurm_.DrainBy("slurm", "c001", "Low RealMemory");
  cluster.work_ends_ = true;
  const v1::Rollout ended = cluster.Await(id);
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(ended.nodes(0).step(), v1::ROLLOUT_STEP_FAILED);
  EXPECT_THAT(ended.nodes(0).message(),
              ::testing::AllOf(HasSubstr("Low RealMemory"), HasSubstr("state=resume")));
  EXPECT_EQ(ended.nodes(1).step(), v1::ROLLOUT_STEP_DONE) << "it was so before";
  EXPECT_EQ(ended.nodes(1).message(), "stays out of service: gres/gpu count too low");
  EXPECT_EQ(cluster.HoldCount(), 1);
}

TEST(RolloutManager, ANodeThatItsHealthTakesOutDuringItsUpdateFails) {
  for (const bool is_quarantine : {true, false}) {
    SCOPED_TRACE(is_quarantine);
    Cluster cluster;
    const std::string id = cluster.Create(cluster.Request());
    cluster.work_ends_ = false;
    for (int i = 0; i < 10; ++i) cluster.Second();
    ASSERT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_APPLYING);
    ASSERT_OK(cluster.store_.below().Update([&](Transaction& txn) -> absl::Status {
      // A person's drain beside it is no reason to call the node done.
      RETURN_IF_ERROR(
          validation::HoldNodes(txn, {"c001"}, {"admin:bob", ""}, "bad fan", cluster.clock_.Now()));
      return txn.node_holds().Put({.node_uuid = Cluster::Uuid(1),
                                   .owner = "health:gpu_lost",
                                   .reason = "GPU-5c1f: Xid 79",
                                   .since = cluster.clock_.Now(),
                                   .is_quarantine = is_quarantine});
    }));
    cluster.work_ends_ = true;
    const v1::Rollout paused = cluster.Await(id);
    EXPECT_EQ(paused.state(), v1::ROLLOUT_STATE_PAUSED);
    EXPECT_EQ(paused.nodes(0).step(), v1::ROLLOUT_STEP_FAILED);
    EXPECT_THAT(paused.nodes(0).message(), HasSubstr("Xid 79"));
  }
}

// What a wave has updated is tested by somebody, or drained, while it is watched.
TEST(RolloutManager, WorkAndDrainsOfPeopleAfterAnUpdateDoNotTellAgainstIt) {
  Cluster cluster;
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_max_unavailable("2");
  request.mutable_soak()->set_seconds(20);
  request.set_on_failure(v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK);
  const std::string id = cluster.Create(request);
  for (int i = 0; i < 60 && cluster.Get(id).state() != v1::ROLLOUT_STATE_SOAKING; ++i)
    cluster.Second();
  ASSERT_EQ(cluster.Get(id).state(), v1::ROLLOUT_STATE_SOAKING);
  // It is a witness of somebody's validation.
  cluster.slurm_.DrainBy("root", "c001", "muster:v-9 being validated");
  for (int i = 0; i < 30; ++i) {
    cluster.manager_->Step();
    cluster.clock_.Advance(absl::Seconds(1));
  }
  EXPECT_EQ(cluster.Get(id).state(), v1::ROLLOUT_STATE_SOAKING) << "it is waited for";
  cluster.slurm_.DrainBy("root", "c001", "bad fan");
  const v1::Rollout ended = cluster.Await(id);
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(cluster.slurm_.nodes["c001"].reason, "bad fan");
}

void BootKernel(Cluster& cluster, int node, const std::string& kernel) {
  v1::Facts facts;
  facts.mutable_os()->set_kernel(kernel);
  ASSERT_OK(cluster.store_.below().Update([&](Transaction& txn) {
    return txn.nodes().PutFacts(Cluster::Uuid(node), facts.SerializeAsString());
  }));
}

// Otherwise it would wait for ever for a node that nothing tests.
TEST(RolloutManager, WithoutASuiteANodeThatDidNotServeStaysOut) {
  Cluster cluster;
  cluster.suite_ = "";
  BootKernel(cluster, 1, "of before");
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_max_unavailable("3");
  const v1::Rollout ended = cluster.Await(cluster.Create(request));
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(ended.nodes(0).step(), v1::ROLLOUT_STEP_DONE);
  EXPECT_THAT(ended.nodes(0).message(), ::testing::HasSubstr("stays out of service"));
  EXPECT_EQ(cluster.HoldCount(), 0);
  cluster.Second();
  EXPECT_EQ(cluster.gate_->ServiceOf("c001"), "not validated");
  EXPECT_EQ(cluster.gate_->ServiceOf("c002"), "in service");
}

TEST(RolloutManager, WithoutASuiteAnotherKernelFailsTheNode) {
  Cluster cluster;
  cluster.suite_ = "";
  v1::CreateRolloutRequest request = cluster.Request();
  const std::string id = cluster.Create(request);
  cluster.Second();
  ASSERT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_DRAINING);
  BootKernel(cluster, 1, "new");
  const v1::Rollout paused = cluster.Await(id);
  EXPECT_EQ(paused.state(), v1::ROLLOUT_STATE_PAUSED);
  EXPECT_EQ(paused.nodes(0).step(), v1::ROLLOUT_STEP_FAILED);
  EXPECT_THAT(paused.nodes(0).message(), ::testing::HasSubstr("muster validate c001"));
  EXPECT_EQ(cluster.HoldCount(), 1);
}

TEST(RolloutManager, ANodeThatChangesAfterItHasPassedFails) {
  Cluster cluster;
  const std::string id = cluster.Create(cluster.Request());
  const auto step = [&] { return cluster.Get(id).nodes(0).step(); };
  for (int i = 0; i < 60 && step() != v1::ROLLOUT_STEP_RESUMING; ++i) cluster.Second();
  ASSERT_EQ(step(), v1::ROLLOUT_STEP_RESUMING);
  BootKernel(cluster, 1, "new");
  for (int i = 0; i < 60; ++i) cluster.Second();
  EXPECT_EQ(step(), v1::ROLLOUT_STEP_RESUMING) << "its facts may still be on their way";
  const v1::Rollout paused = cluster.Await(id);
  EXPECT_EQ(paused.state(), v1::ROLLOUT_STATE_PAUSED);
  EXPECT_EQ(paused.nodes(0).step(), v1::ROLLOUT_STEP_FAILED);
  EXPECT_THAT(paused.nodes(0).message(),
              ::testing::AllOf(HasSubstr("muster validate c001"), Not(HasSubstr("no suite"))));
  ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kAborted, "", cluster.Ann()).status());
  EXPECT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_ABORTED);
}

// Nobody could give it back before.
TEST(RolloutManager, TheTimeForANodesFactsBeginsWhenSlurmAnswers) {
  Cluster cluster;
  const std::string id = cluster.Create(cluster.Request());
  const auto step = [&] { return cluster.Get(id).nodes(0).step(); };
  for (int i = 0; i < 60 && step() != v1::ROLLOUT_STEP_RESUMING; ++i) cluster.Second();
  ASSERT_EQ(step(), v1::ROLLOUT_STEP_RESUMING);
  cluster.slurm_.status = absl::UnavailableError("slurmctld does not answer");
  BootKernel(cluster, 1, "new");
  for (int i = 0; i < 200; ++i) cluster.Second();
  cluster.slurm_.status = absl::OkStatus();
  for (int i = 0; i < 60; ++i) cluster.Second();
  EXPECT_EQ(step(), v1::ROLLOUT_STEP_RESUMING);
  EXPECT_EQ(cluster.Await(id).nodes(0).step(), v1::ROLLOUT_STEP_FAILED);
}

}  // namespace
}  // namespace muster::controller::rollout
