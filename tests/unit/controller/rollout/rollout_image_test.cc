// Rollouts over nodes that run from images on their disks.
#include "controller/rollout/way_back/rollout_image.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/rollout/rollout_manager.h"
#include "muster/v1/run.pb.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/rollout/rollout_cluster.h"

namespace muster::controller::rollout {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kVariable[] = "disk_image";
constexpr char kOld[] = "worker@111111111111";
constexpr char kMove[] = "groups: {new: {nodes: 'c[001-003]', vars: {boot: worker@22222222}}}\n";

// The first two run the old image from their disks, the third was installed by hand.
void GiveImages(Cluster& cluster) {
  ASSERT_OK(cluster.store_.below().Update([&](Transaction& txn) -> absl::Status {
    for (int i = 1; i <= 2; ++i) {
      v1::Facts facts;
      facts.mutable_os()->set_kernel_arguments(
          absl::StrCat("boot=muster muster.image=", kOld, " muster.slot=a"));
      RETURN_IF_ERROR(txn.nodes().PutFacts(Cluster::Uuid(i), facts.SerializeAsString()));
      BootDiskRecord disk;
      disk.node = Cluster::Name(i);
      disk.what = kOld;
      RETURN_IF_ERROR(txn.boots().PutDisk(disk));
    }
    return absl::OkStatus();
  }));
}

std::map<std::string, std::string> GivenImages(const Cluster& cluster) {
  std::map<std::string, std::string> given;  // by node
  for (const auto& [run, actor] : cluster.asked_runs_) {
    const auto image = run.extra_vars().find(kVariable);
    if (image != run.extra_vars().end()) given[run.limit()] = image->second;
  }
  return given;
}

TEST(RolloutImage, NotesWhatItsNodesRunAndGivesThemNothing) {
  Cluster cluster;
  GiveImages(cluster);
  cluster.SetInventory(kMove);
  const std::string id = cluster.Create(cluster.Request());
  EXPECT_THAT(cluster.Get(id).request().node_images(),
              UnorderedElementsAre(Pair("c001", kOld), Pair("c002", kOld)));
  EXPECT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_THAT(GivenImages(cluster), IsEmpty());
}

TEST(RolloutImage, ARollbackGivesEachNodeTheImageThatItRan) {
  Cluster cluster;
  GiveImages(cluster);
  cluster.AddRun("r-before", kNewBundle, "", "admin:ann");
  cluster.clock_.Advance(absl::Seconds(1));
  cluster.SetInventory(kMove);
  cluster.failing_nodes_ = {"c001", "c002", "c003"};  // whichever is the canary
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_on_failure(v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK);
  const std::string id = cluster.Create(request);
  EXPECT_EQ(cluster.Get(id).previous_bundle_sha256(), kNewBundle) << "only the image has changed";
  for (int i = 0; i < 200 && cluster.Get(id).rolled_back_by().empty(); ++i) cluster.Second();
  cluster.failing_nodes_.clear();
  const v1::Rollout ended = cluster.Await(id);
  ASSERT_THAT(ended.rolled_back_by(), Not(IsEmpty())) << ended.message();
  EXPECT_THAT(ended.message(),
              HasSubstr("`boot` in the inventory still names another image for c[001-002]"));
  EXPECT_EQ(cluster.Await(ended.rolled_back_by()).state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_THAT(GivenImages(cluster), ElementsAre(Pair("c001", absl::StrCat("\"", kOld, "\""))));
  // Nobody has asked for the variable, so that nobody has to approve it.
  for (const auto& [run, actor] : cluster.asked_runs_) {
    EXPECT_EQ(actor.own_variables.count(kVariable), run.extra_vars().count(kVariable));
  }
  // It stopped at the canary, so that the others had nothing to take back.
  EXPECT_EQ(
      cluster.RunsOf("c002").size() + cluster.RunsOf("c003").size() + cluster.RunsOf("c001").size(),
      2u);
}

TEST(RolloutImage, TheSameImageIsNoWayBackToTheSameBundle) {
  Cluster cluster;
  GiveImages(cluster);
  cluster.AddRun("r-before", kNewBundle, "", "admin:ann");
  cluster.clock_.Advance(absl::Seconds(1));
  for (const char* boot : {"worker@11111111", "worker", "disk"}) {
    cluster.SetInventory(
        absl::StrCat("groups: {same: {nodes: 'c[001-003]', vars: {boot: ", boot, "}}}\n"));
    const std::string id = cluster.Create(cluster.Request());
    EXPECT_EQ(cluster.Get(id).previous_bundle_sha256(), kOldBundle) << boot;
    ASSERT_OK(
        cluster.manager_->Change(id, RolloutEvent::kAborted, "enough", cluster.Ann()).status());
    cluster.Await(id);
  }
}

// A variable is a template where a role reads it.
TEST(RolloutImage, ANodeThatNamesNoBuildIsNotTakenAtItsWord) {
  Cluster cluster;
  GiveImages(cluster);
  for (const char* told : {"{{secret('munge_key')}}@11111111", "worker@{{1}}", "worker",
                           "../w@11111111", "worker@1111", "@11111111"}) {
    v1::Facts facts;
    facts.mutable_os()->set_kernel_arguments(absl::StrCat("muster.slot=a muster.image=", told));
    ASSERT_OK(cluster.store_.below().Update([&](Transaction& txn) -> absl::Status {
      return txn.nodes().PutFacts(Cluster::Uuid(1), facts.SerializeAsString());
    }));
    const auto preview = cluster.manager_->Preview(cluster.Request(), cluster.Ann());
    ASSERT_OK(preview.status());
    EXPECT_THAT(preview->rollout().request().node_images(), ElementsAre(Pair("c002", kOld)))
        << told;
  }
}

TEST(RolloutImage, WhatTheControllerNotesIsNotTakenFromPeople) {
  Cluster cluster;
  v1::CreateRolloutRequest request = cluster.Request();
  (*request.mutable_node_images())["c001"] = kOld;
  EXPECT_THAT(cluster.Get(cluster.Create(request)).request().node_images(), IsEmpty());
}

TEST(RolloutImage, TheNodesThatTheInventoryMoves) {
  Cluster cluster;
  cluster.SetInventory(
      "groups: {new: {nodes: c001, vars: {boot: worker@22222222}}, old: {nodes: c002, vars: {boot: "
      "worker@11111111}}}\n");
  v1::CreateRolloutRequest request;
  for (const char* node : {"c001", "c002", "c003", "c999"})
    (*request.mutable_node_images())[node] = kOld;
  EXPECT_THAT(NodesToOtherImages(*cluster.inventories_.back(), request), ElementsAre("c001"));
  EXPECT_THAT(StillNamed(*cluster.inventories_.back(), request), HasSubstr("for c001:"));
  request.mutable_node_images()->erase("c001");
  EXPECT_EQ(StillNamed(*cluster.inventories_.back(), request), "");
}

}  // namespace
}  // namespace muster::controller::rollout
