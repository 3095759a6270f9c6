// The role os_updates: which nodes get newer packages, and reboot into them.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/playbooks/roles_fixture.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kOsUpdates[] = R"(
- play: p
  hosts: all
  roles: [os_updates]
)";
constexpr char kUpgrade[] = "newer versions of the operating system's packages";
constexpr char kReboot[] = "into the newer system";

class OsUpdatesTest : public RolesFixture {
 protected:
  OsUpdatesTest() : RolesFixture(kOsUpdates, {"os_updates"}) {
    Set(R"({"os_updates": "security"})");
  }
};

TEST_F(OsUpdatesTest, WorkersAreUpgradedAndRebooted) {
  EXPECT_THAT(Step("c001", kUpgrade).skip_reason(), IsEmpty());
  EXPECT_THAT(Step("c001", kUpgrade).notify(), ElementsAre(::testing::EndsWith(kReboot)));
  EXPECT_THAT(Step("c001", kReboot).skip_reason(), IsEmpty());
  EXPECT_THAT(Step("login1", kUpgrade).skip_reason(), IsEmpty());
  EXPECT_THAT(Step("login1", kReboot).skip_reason(), ::testing::Not(IsEmpty()));
}

TEST_F(OsUpdatesTest, NodesThatRunAnImageGetNewerPackagesByAnotherImage) {
  for (const char* root : {"muster.root=http://10.0.0.1:7483/root.squashfs", "muster.slot=a"}) {
    facts_["c001"]["os"]["kernel_arguments"] = std::string("boot=muster ") + root;
    EXPECT_THAT(Step("c001", kUpgrade).skip_reason(), ::testing::Not(IsEmpty())) << root;
  }
  // The root of an image that is being built has no kernel.
  facts_["c001"]["os"].erase("kernel_arguments");
  EXPECT_THAT(Step("c001", kUpgrade).skip_reason(), IsEmpty());
}

}  // namespace
}  // namespace muster::controller
