// Rollouts that move nodes to a stack: CreateRolloutRequest.stack.
#include "controller/rollout/way_back/rollout_stack.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "controller/rollout/rollout_manager.h"
#include "controller/run/run_records.h"
#include "muster/v1/run.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/rollout/rollout_cluster.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// c003 has a stack of its own.
constexpr char kBefore[] =
    "groups: {gpu: {nodes: 'c[001-002]', vars: {stack: debian12}}, old: {nodes: c003, vars: "
    "{stack: debian11}}}\n";
constexpr char kAfter[] =
    "groups: {gpu: {nodes: 'c[001-002]', vars: {stack: debian13}}, old: {nodes: c003, vars: "
    "{stack: debian13}}}\n";

v1::CreateRolloutRequest Move(Cluster& cluster) {
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_stack("debian13");
  return request;
}

TEST(RolloutStack, TheInventoryHasToGiveItToEachWorker) {
  Cluster cluster;
  cluster.SetInventory(kBefore);
  EXPECT_THAT(cluster.manager_->Create(Move(cluster), cluster.Ann()),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  cluster.SetInventory("");
  EXPECT_THAT(cluster.manager_->Create(Move(cluster), cluster.Ann()),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(cluster.Rollouts(), IsEmpty());
}

TEST(RolloutStack, IsAnUpdateLikeAnyOther) {
  Cluster cluster;
  cluster.SetInventory(kAfter);
  const v1::Rollout ended = cluster.Await(cluster.Create(Move(cluster)));
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(ended.request().stack(), "debian13");
  for (const auto& [run, actor] : cluster.asked_runs_) EXPECT_THAT(run.extra_vars(), IsEmpty());
}

TEST(RolloutStack, ARollbackGivesEachNodeItsStackOfBefore) {
  Cluster cluster;
  cluster.SetInventory(kBefore);
  cluster.AddRun("r-before", kNewBundle, "", "admin:ann");
  cluster.clock_.Advance(absl::Seconds(1));
  cluster.SetInventory(kAfter);
  const std::string id = cluster.Create(Move(cluster));
  EXPECT_EQ(cluster.Get(id).request().revision_before(), 2u);
  EXPECT_EQ(cluster.Get(id).previous_bundle_sha256(), kNewBundle) << "only the stack has changed";
  const auto is_done = [&](int node) {
    return cluster.Get(id).nodes(node).step() == v1::ROLLOUT_STEP_DONE;
  };
  for (int i = 0; i < 200 && !(is_done(0) && is_done(1)); ++i) cluster.Second();
  ASSERT_OK(
      cluster.manager_->Change(id, RolloutEvent::kRolledBack, "slow", cluster.Ann()).status());
  const v1::Rollout back = cluster.Await(id);
  ASSERT_FALSE(back.rolled_back_by().empty()) << back.message();
  EXPECT_THAT(back.message(),
              HasSubstr("the inventory still says 'debian13': `muster inventory revert 3`"));
  cluster.asked_runs_.clear();
  const v1::Rollout way_back = cluster.Await(back.rolled_back_by());
  EXPECT_EQ(way_back.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(way_back.request().bundle_sha256(), kNewBundle);
  EXPECT_EQ(way_back.request().stack(), "");
  std::map<std::string, std::string> given;  // by node
  for (const auto& [run, actor] : cluster.asked_runs_)
    given[run.limit()] = run.extra_vars().at("stack");
  EXPECT_EQ(given["c001"], "\"debian12\"");
  EXPECT_EQ(given["c002"], "\"debian12\"");
  // Whether it had been taken already when the rollback came depends on the second.
  if (given.count("c003") > 0) {
    EXPECT_EQ(given["c003"], "\"debian11\"");
  }
  // The way back gave stacks that no inventory names: it is nothing to go back to.
  EXPECT_EQ(cluster.Get(cluster.Create(Move(cluster))).request().revision_before(), 2u);
}

TEST(RolloutStack, WhatTheControllerSetsIsNotTakenFromPeople) {
  Cluster cluster;
  cluster.SetInventory(kAfter);
  v1::CreateRolloutRequest request = cluster.Request();
  (*request.mutable_node_stacks())["c001"] = "debian12";
  request.set_revision_before(1);
  const std::string id = cluster.Create(request);
  EXPECT_THAT(cluster.Get(id).request().node_stacks(), IsEmpty());
  EXPECT_EQ(cluster.Get(id).request().revision_before(), 0u);
}

TEST(RolloutStack, WithoutAnEarlierStackTheBundleOfBeforeIsTheWayBack) {
  Cluster cluster;  // kOldBundle was applied with revision 1, which has no stacks
  cluster.inventories_.clear();
  cluster.SetInventory(kAfter);
  const std::string id = cluster.Create(Move(cluster));
  EXPECT_EQ(cluster.Get(id).request().revision_before(), 0u);
  EXPECT_EQ(cluster.Get(id).previous_bundle_sha256(), kOldBundle);
}

TEST(RolloutStack, ReadsTheVariableAsItIsWritten) {
  Cluster cluster;
  cluster.SetInventory(kBefore);
  const Inventory& inventory = *cluster.inventories_.back();
  EXPECT_EQ(StackOf(inventory, "c001"), "debian12");
  EXPECT_EQ(StackOf(inventory, "c003"), "debian11");
  EXPECT_EQ(StackOf(inventory, "login1"), "");
  EXPECT_EQ(StackOf(inventory, "c999"), "");
}

}  // namespace
}  // namespace muster::controller::rollout
