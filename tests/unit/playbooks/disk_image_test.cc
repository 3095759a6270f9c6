// The role disk_image: which nodes reboot into the image that the inventory names.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/playbooks/roles_fixture.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kDiskImage[] = R"(
- play: p
  hosts: compute
  roles:
    - {role: disk_image, when: disk_image != ""}
)";

class DiskImageTest : public RolesFixture {
 protected:
  DiskImageTest() : RolesFixture(kDiskImage, {"disk_image"}) { Run("muster.slot=a"); }
  // c001 has these arguments of its kernel.
  void Run(const std::string& arguments) {
    facts_["c001"]["os"]["kernel_arguments"] =
        "boot=muster muster.image=worker@0a0b0c0d " + arguments;
  }
  void Boot(const std::string& what) {
    UseInventory("cluster: x\nnodes: {c001: {role: compute, vars: {boot: " + what + "}}}\n");
  }
  // The images into which the steps of the node reboot.
  std::vector<std::string> Images() {
    const NodePlan plan = Compile("c001");
    EXPECT_OK(plan.error);
    std::vector<std::string> images;
    if (plan.plan == nullptr) return images;
    for (const v1::RolePlan& role : plan.plan->roles()) {
      for (const v1::Step& step : role.steps())
        if (step.skip_reason().empty()) images.push_back(step.reboot().image());
    }
    return images;
  }
};

TEST_F(DiskImageTest, FollowsWhatTheInventoryNamesWithItsDigest) {
  EXPECT_THAT(Images(), IsEmpty());
  for (const char* left_to_the_boot : {"disk", "rescue", "worker"}) {
    Boot(left_to_the_boot);
    EXPECT_THAT(Images(), IsEmpty()) << left_to_the_boot;
  }
  Boot("worker@1a2b3c4d");
  EXPECT_THAT(Images(), ElementsAre("worker@1a2b3c4d"));
  EXPECT_EQ(Step("c001", "the image on the disk").reboot().timeout().seconds(), 3600);
}

TEST_F(DiskImageTest, LeavesNodesAloneThatRunFromNoImageOnADisk) {
  Boot("worker@1a2b3c4d");
  Run("");
  EXPECT_THAT(Images(), IsEmpty());
  facts_["c001"]["os"].erase("kernel_arguments");
  EXPECT_THAT(Images(), IsEmpty());
}

TEST_F(DiskImageTest, AVariableComesBeforeTheInventory) {
  Boot("worker@1a2b3c4d");
  Set(R"({"disk_image": "worker@0a0b0c0d"})");
  EXPECT_THAT(Images(), ElementsAre("worker@0a0b0c0d"));
  Set(R"({"disk_image": ""})");
  EXPECT_THAT(Images(), IsEmpty());
}

}  // namespace
}  // namespace muster::controller
