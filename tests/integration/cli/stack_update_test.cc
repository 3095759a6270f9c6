// `muster update STACK` against a whole controller.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "muster/v1/rollout.grpc.pb.h"
#include "tests/integration/cli/admin_cli_fixture.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kStackOld[] =
    "description: old\nos: [debian 12]\nkernel: {from: '6.1', below: '6.2'}\n"
    "slurm: {version: 22.05.8}\n";
constexpr char kStackNew[] =
    "description: new\nos: [debian 12]\nkernel: {from: '6.1', below: '6.2'}\n"
    "slurm: {version: 24.11.5}\n";
constexpr char kWorkers[] =
    "cluster: test\nnodes:\n  login1: {role: login}\n"
    "  c[001-003]: {role: compute, groups: [gpu]}\ngroups: {gpu: {}}\n";
constexpr char kChosen[] = "# Of all GPU nodes.\nstack: old  # since March\n";
constexpr char kSitePlaybook[] =
    "- play: workers\n  hosts: compute\n  tasks:\n"
    "    - name: host name\n      hostname: {name: \"{{ node }}\"}\n";

class StackUpdateTest : public AdminCliTest {
 protected:
  void SetUp() override {
    AdminCliTest::SetUp();
    controller_.reset();
    {
      const auto store = controller::OpenStore(config_.state_directory + "/muster.db").value();
      ASSERT_OK(store->Update([&](controller::Transaction& txn) -> absl::Status {
        for (const char* name : {"c001", "c002", "c003"}) {
          controller::NodeRecord node;
          node.uuid = absl::StrCat("uuid-", name);
          node.name = name;
          node.state = controller::NodeRecord::kConfigured;
          RETURN_IF_ERROR(txn.nodes().Put(node));
        }
        return absl::OkStatus();
      }));
    }
    Start();
    Attach();
    for (const char* part : {"playbooks/stacks", "inventory/group_vars"})
      fs::create_directories(folder_ / "site" / part);
    Write("site/playbooks/site.yaml", kSitePlaybook);
    Write("site/playbooks/stacks/old.yaml", kStackOld);
    Write("site/playbooks/stacks/new.yaml", kStackNew);
    Write("site/inventory/cluster.yaml", kWorkers);
    Choose(kChosen);
  }
  // Here and at the controller.
  void Choose(const std::string& gpu_vars) {
    Write("site/inventory/group_vars/gpu.yaml", gpu_vars);
    Apply({{"inventory/cluster.yaml", kWorkers}, {"inventory/group_vars/gpu.yaml", gpu_vars}});
    revision_ = InForce().revision();
  }
  int Update(std::vector<std::string> words) {
    words.insert(words.begin(), "update");
    words.push_back("--site");
    words.push_back((folder_ / "site").string());
    return Muster(&AddUpdate, words);
  }
  std::vector<v1::Rollout> Rollouts() {
    v1::ListRolloutsResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(v1::RolloutService::Stub(channel_).ListRollouts(&context, {}, &response).ok());
    return {response.rollouts().begin(), response.rollouts().end()};
  }
  std::string Mine() { return ContentOf(folder_ / "site/inventory/group_vars/gpu.yaml"); }
  void ExpectNothingChanged() {
    EXPECT_EQ(InForce().revision(), revision_);
    EXPECT_EQ(Mine(), FileInForce("inventory/group_vars/gpu.yaml"));
    EXPECT_THAT(Rollouts(), IsEmpty());
  }

  uint64_t revision_ = 0;
};

TEST_F(StackUpdateTest, TheInventoryChoosesItAndARolloutFollows) {
  ASSERT_EQ(Update({"new", "--yes", "--detach"}), kExitClean) << err_;
  EXPECT_EQ(Mine(), "# Of all GPU nodes.\nstack: new  # since March\n");
  EXPECT_EQ(FileInForce("inventory/group_vars/gpu.yaml"), Mine());
  EXPECT_EQ(InForce().revision(), revision_ + 1);
  ASSERT_THAT(Rollouts(), SizeIs(1));
  const v1::Rollout rollout = Rollouts()[0];
  EXPECT_EQ(out_, rollout.rollout_id() + "\n");
  EXPECT_EQ(rollout.request().stack(), "new");
  EXPECT_EQ(rollout.request().limit(), "c[001-003]");
  EXPECT_THAT(rollout.request().extra_vars(), IsEmpty());
  EXPECT_EQ(rollout.inventory_revision(), revision_ + 1);
}

TEST_F(StackUpdateTest, TheSameCommandAgainEditsNothing) {
  ASSERT_EQ(Update({"new", "--yes", "--detach"}), kExitClean) << err_;
  EXPECT_EQ(Update({"new", "--yes", "--detach"}), kExitError);
  EXPECT_THAT(err_, HasSubstr("muster rollout watch u-"));
  EXPECT_EQ(InForce().revision(), revision_ + 1);
  EXPECT_THAT(Rollouts(), SizeIs(1));
}

TEST_F(StackUpdateTest, AnEditWhoseRolloutDidNotBeginIsSaid) {
  // A rollout of one node is in the way.
  ASSERT_EQ(Update({"old", "--limit", "c002", "--yes", "--detach"}), kExitClean) << err_;
  EXPECT_EQ(Update({"new", "--yes", "--detach"}), kExitError);
  EXPECT_THAT(err_, AllOf(HasSubstr("muster rollout watch u-"), HasSubstr("chooses new"),
                          HasSubstr("the same command starts the rollout")));
  EXPECT_EQ(InForce().revision(), revision_ + 1);
}

TEST_F(StackUpdateTest, WhatDoesNotFitIsRefusedBeforeAnythingChanges) {
  Choose("stack: old\nslurm_version: '22.05'\n");
  EXPECT_EQ(Update({"new", "--yes", "--detach"}), kExitError);
  EXPECT_THAT(err_, AllOf(HasSubstr("stack new does not fit c[001-003]"), HasSubstr("22.05"),
                          HasSubstr("nothing was changed")));
  ExpectNothingChanged();
}

TEST_F(StackUpdateTest, AStackThatIsNotThereIsNamed) {
  EXPECT_EQ(Update({"nww", "--yes", "--detach"}), kExitError);
  EXPECT_THAT(err_, HasSubstr("nww"));
  ExpectNothingChanged();
}

TEST_F(StackUpdateTest, NodesThatShareThePlaceAreNotMovedAlong) {
  EXPECT_EQ(Update({"new", "--limit", "c001", "--yes", "--detach"}), kExitError);
  EXPECT_THAT(err_, AllOf(HasSubstr("group_vars/gpu.yaml:2"), HasSubstr("c[002-003]")));
  ExpectNothingChanged();
}

TEST_F(StackUpdateTest, OthersCommentsAreNoPlaceToEdit) {
  Write("site/inventory/group_vars/gpu.yaml", "# One line more.\n" + std::string(kChosen));
  EXPECT_EQ(Update({"new", "--yes", "--detach"}), kExitError);
  EXPECT_THAT(err_, AllOf(HasSubstr("the text of inventory/group_vars/gpu.yaml"),
                          HasSubstr("muster inventory pull")));
  EXPECT_EQ(InForce().revision(), revision_);
  EXPECT_THAT(Rollouts(), IsEmpty());
}

TEST_F(StackUpdateTest, WithoutAnyStackThereIsNothingToMove) {
  Choose("gpu_count: 8\n");
  EXPECT_EQ(Update({"new", "--yes", "--detach"}), kExitError);
  EXPECT_THAT(err_, HasSubstr("no worker has a stack"));
  ExpectNothingChanged();
}

TEST_F(StackUpdateTest, ContradictionsInTheCommandAreUsageErrors) {
  EXPECT_EQ(Update({"new", "-e", "stack=old", "--yes"}), kExitError);
  EXPECT_THAT(err_, HasSubstr("name the stack once"));
  EXPECT_EQ(Update({(folder_ / "site/playbooks/site.yaml").string(), "--yes"}), kExitError);
  EXPECT_THAT(err_, HasSubstr("go with a stack"));
  EXPECT_EQ(Update({"new", "--plan", "--out", (folder_ / "p.json").string()}), kExitError);
  EXPECT_THAT(err_, HasSubstr("a plan file is of the inventory in force"));
  ExpectNothingChanged();
}

}  // namespace
}  // namespace muster::cli
