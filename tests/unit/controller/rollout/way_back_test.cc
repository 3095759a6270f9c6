// To what a rollout goes back, and which of its nodes.
#include "controller/rollout/way_back/way_back.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "controller/rollout/rollout_manager.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/rollout/rollout_cluster.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;

TEST(RolloutManager, RollsBackByItselfWhereAsked) {
  Cluster cluster;
  cluster.failing_bundles_ = {kNewBundle};
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_on_failure(v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK);
  const v1::Rollout ended = cluster.Await(cluster.Create(request));
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_ROLLED_BACK);
  EXPECT_EQ(cluster.Await(ended.rolled_back_by()).state(), v1::ROLLOUT_STATE_COMPLETED);
}

TEST(RolloutManager, ManyRunsDoNotHideTheWayBack) {
  Cluster cluster;
  cluster.clock_.Advance(absl::Seconds(1));
  cluster.AddNodeRuns(1000, kNewBundle);
  cluster.clock_.Advance(absl::Seconds(1));
  cluster.failing_bundles_ = {kNewBundle};
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_on_failure(v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK);
  const std::string id = cluster.Create(request);
  EXPECT_EQ(cluster.Get(id).previous_bundle_sha256(), kOldBundle);
  EXPECT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_ROLLED_BACK);
}

// A trial says nothing about the nodes that it left out, and a failed one is nothing to go back to.
TEST(RolloutManager, ATrialOnOtherNodesOrThatFailedIsNoWayBack) {
  Cluster cluster;
  cluster.failing_bundles_ = {"broken"};
  const auto update = [&](const char* bundle, const char* limit) {
    v1::CreateRolloutRequest request = cluster.Request();
    request.set_bundle_sha256(bundle);
    request.set_limit(limit);
    return cluster.Await(cluster.Create(request));
  };
  ASSERT_EQ(update("trial", "c001").state(), v1::ROLLOUT_STATE_COMPLETED);
  ASSERT_EQ(update("broken", "c001").state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(update(kNewBundle, "c001").previous_bundle_sha256(), "trial");
  EXPECT_EQ(update(kNewBundle, "c002").previous_bundle_sha256(), kOldBundle);
  EXPECT_EQ(update(kNewBundle, "").previous_bundle_sha256(), kOldBundle);
  EXPECT_EQ(update("newer", "c001").previous_bundle_sha256(), kNewBundle);
}

TEST(RolloutManager, NodesThatLeaveOrJoinDoNotHideTheWayBack) {
  for (const char* workers : {"c[002-003]", "c[001-004]"}) {
    SCOPED_TRACE(workers);
    Cluster cluster;
    const auto update = [&](const char* bundle, const char* limit) {
      v1::CreateRolloutRequest request = cluster.Request();
      request.set_bundle_sha256(bundle);
      request.set_limit(limit);
      return cluster.Create(request);
    };
    ASSERT_EQ(cluster.Await(update("first", "c[001-003]")).state(), v1::ROLLOUT_STATE_COMPLETED);
    ASSERT_EQ(cluster.Await(update("second", "c[001-003]")).state(), v1::ROLLOUT_STATE_COMPLETED);
    ASSERT_EQ(cluster.Await(update("trial", "c002")).state(), v1::ROLLOUT_STATE_COMPLETED);
    cluster.workers_ = workers;
    cluster.SetInventory("");
    cluster.Join("c004", "uuid-4");
    EXPECT_EQ(cluster.Get(update(kNewBundle, "")).previous_bundle_sha256(), "second");
  }
}

TEST(RolloutManager, NodesThatJoinedAfterAnUpdateAloneHaveNoWayBackToIt) {
  Cluster cluster;
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_limit("c001");
  ASSERT_EQ(cluster.Await(cluster.Create(request)).state(), v1::ROLLOUT_STATE_COMPLETED);
  cluster.workers_ = "c[001-004]";
  cluster.SetInventory("");
  cluster.Join("c004", "uuid-4");
  request.set_bundle_sha256("newer");
  request.set_limit("c004");
  EXPECT_EQ(cluster.Get(cluster.Create(request)).previous_bundle_sha256(), kOldBundle);
}

TEST(RolloutManager, ABundleThatMayNotBeRunIsNoWayBack) {
  Cluster cluster;
  cluster.failing_bundles_ = {kNewBundle};
  cluster.refused_bundles_ = {kOldBundle};
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_on_failure(v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK);
  const v1::Rollout ended = cluster.Await(cluster.Create(request));
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_ABORTED);
  EXPECT_TRUE(ended.rolled_back_by().empty());
  EXPECT_THAT(ended.message(), Said());
}

TEST(RolloutManager, ARollbackTakesBackTheNodesThatAreStillThere) {
  for (const bool is_replaced : {false, true}) {
    SCOPED_TRACE(is_replaced);
    Cluster cluster;
    const std::string id = cluster.Create(cluster.Request());
    const auto is_done = [&](int node) {
      return cluster.Get(id).nodes(node).step() == v1::ROLLOUT_STEP_DONE;
    };
    for (int i = 0; i < 200 && !(is_done(0) && is_done(1)); ++i) cluster.Second();
    if (is_replaced) {
      ASSERT_OK(cluster.store_.below().Update([&](Transaction& txn) -> absl::Status {
        ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().GetByName("c001"));
        node.state = NodeRecord::kRemoved;
        return txn.nodes().Put(node);
      }));
      cluster.Join("c001", "uuid-new");
    } else {
      cluster.workers_ = "c[002-003]";
      cluster.SetInventory("");
    }
    ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kRolledBack, "", cluster.Ann()).status());
    const v1::Rollout ended = cluster.Await(id);
    ASSERT_EQ(ended.state(), v1::ROLLOUT_STATE_ROLLED_BACK) << ended.message();
    EXPECT_THAT(ended.message(), HasSubstr("takes it back, without c001, which left the cluster"));
    const v1::Rollout way_back = cluster.Await(ended.rolled_back_by());
    EXPECT_EQ(way_back.state(), v1::ROLLOUT_STATE_COMPLETED);
    ASSERT_GT(way_back.nodes_size(), 0);
    EXPECT_EQ(way_back.nodes(0).node(), "c002");
  }
}

TEST(RolloutManager, ARollbackOfNodesThatHaveAllLeftBeginsNothing) {
  Cluster cluster;
  cluster.failing_bundles_ = {kNewBundle};
  const std::string id = cluster.Create(cluster.Request());
  ASSERT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_PAUSED);
  cluster.workers_ = "c[002-003]";
  cluster.SetInventory("");
  ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kRolledBack, "", cluster.Ann()).status());
  const v1::Rollout ended = cluster.Await(id);
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_ROLLED_BACK);
  EXPECT_EQ(ended.rolled_back_by(), "");
  EXPECT_THAT(ended.message(), Said());
}

}  // namespace
}  // namespace muster::controller::rollout
