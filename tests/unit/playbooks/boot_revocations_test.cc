// The role boot_revocations: what firmware with Secure Boot is to start no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/playbooks/roles_fixture.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kBootRevocations[] = R"(
- play: p
  hosts: compute
  roles:
    - {role: boot_revocations, when: boot_revocations != ""}
)";
constexpr char kFiles[] = "playbooks/roles/boot_revocations/files/";

class BootRevocationsTest : public RolesFixture {
 protected:
  BootRevocationsTest() : RolesFixture(kBootRevocations, {"boot_revocations"}) {
    for (const char* name : {"dbx", "of-2027"}) {
      site_[std::string(kFiles) + name + ".auth"] = std::string("auth of ") + name;
      site_[std::string(kFiles) + name + ".list"] = std::string("list of ") + name;
    }
  }
};

TEST_F(BootRevocationsTest, NothingWithoutAList) { EXPECT_THAT(RolesOf("c001"), IsEmpty()); }

TEST_F(BootRevocationsTest, TheFirmwareIsToldOnce) {
  for (const std::string name : {"dbx", "of-2027"}) {
    Set("{\"boot_revocations\": \"" + name + ".auth\"}");
    EXPECT_EQ(File("c001", "/etc/muster-revocations/dbx.auth").content(), "auth of " + name);
    EXPECT_EQ(File("c001", "/etc/muster-revocations/dbx.list").content(), "list of " + name);
  }
  const v1::Step step = Step("c001", "firmware starts nothing that was revoked");
  EXPECT_THAT(step.command().argv(),
              ElementsAre("/usr/local/lib/muster/boot-revocations", "write"));
  EXPECT_THAT(step.command().unless(),
              ElementsAre("/usr/local/lib/muster/boot-revocations", "check"));
  EXPECT_EQ(File("c001", "/usr/local/lib/muster/boot-revocations").mode(), 0755u);
}

TEST_F(BootRevocationsTest, AListIsAFileOfTheRole) {
  for (const char* wrong : {"dbx", "../dbx.auth", "other.auth", "dbx.list"}) {
    Set(std::string("{\"boot_revocations\": \"") + wrong + "\"}");
    EXPECT_FALSE(Compile("c001").error.ok()) << wrong;
  }
}

}  // namespace
}  // namespace muster::controller
