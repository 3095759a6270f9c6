// The role boot_server: DHCP and TFTP beside the site's own, or instead of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/playbooks/roles_fixture.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kBootServer[] = R"(
- play: p
  hosts: all
  roles:
    - {role: boot_server, when: boot_server_host == node.name}
)";
constexpr char kSettings[] = "/etc/muster-boot/dnsmasq.conf";

class BootServerRoleTest : public RolesFixture {
 protected:
  BootServerRoleTest() : RolesFixture(kBootServer, {"boot_server"}) {
    UseInventory(
        "cluster: x\nnodes: {login1: {role: login, address: 10.0.0.1}, login2: {role: login, "
        "address: \"2001:db8::2\"}, c001: {role: compute, address: 10.0.0.11, mac: "
        "\"0c:42:a1:00:12:01\"}, c002: {role: compute, mac: \"0c:42:a1:00:12:02\"}}\n");
    GiveOs("debian", "12");
    Set(R"({"boot_server_host": "login1", "boot_server_interface": "eno2"})");
  }
  std::string Settings(const std::string& node = "login1") {
    return File(node, kSettings).content();
  }
};

TEST_F(BootServerRoleTest, BesideTheSitesOwnServerAsADefault) {
  EXPECT_THAT(Settings(),
              AllOf(HasSubstr("\ninterface=eno2\n"), HasSubstr("\ndhcp-range=10.0.0.1,proxy\n"),
                    HasSubstr("\npxe-service=tag:!ipxe,x86PC,\"Muster\",undionly.kpxe\n"),
                    HasSubstr("\ndhcp-boot=tag:ipxe,http://10.0.0.1:7483/boot.ipxe?mac="
                              "${net0/mac}\n"),
                    Not(HasSubstr("dhcp-host")), Not(HasSubstr("dhcp-authoritative"))));
  EXPECT_THAT(RolesOf("c001"), ElementsAre());
}

TEST_F(BootServerRoleTest, TheOnlyServerWithTheInventorysAddresses) {
  Set(R"({"boot_server_dhcp_range": "10.0.0.100,10.0.0.200,255.255.255.0",
          "boot_server_router": "10.0.0.1", "boot_server_port": 7500,
          "boot_server_extra_config": ["enable-ra"]})");
  EXPECT_THAT(Settings(), AllOf(HasSubstr("\ndhcp-range=10.0.0.100,10.0.0.200,255.255.255.0,1h\n"),
                                HasSubstr("\ndhcp-option=option:router,10.0.0.1\n"),
                                HasSubstr("\ndhcp-host=0c:42:a1:00:12:01,10.0.0.11,c001\n"),
                                Not(HasSubstr("0c:42:a1:00:12:02")),
                                HasSubstr("http://10.0.0.1:7500/boot.ipxe"),
                                HasSubstr("\nenable-ra\n"), Not(HasSubstr("proxy"))));
}

// dnsmasq gives out no more than 1000 without being told, the inventory's addresses included.
TEST_F(BootServerRoleTest, HasALeaseForEachNode) {
  EXPECT_THAT(Settings(), Not(HasSubstr("dhcp-lease-max")));
  Set(R"({"boot_server_dhcp_range": "10.0.0.100,10.0.0.200,255.255.255.0"})");
  EXPECT_THAT(Settings(), HasSubstr("\ndhcp-lease-max=1004\n"));
}

// An adopted machine asks for its address within half a minute.
TEST_F(BootServerRoleTest, LearnsTheAddressesOfNewNodesByThePartThatListsNodes) {
  options_.tags = {"names"};
  Set(R"({"boot_server_dhcp_range": "10.0.0.100,10.0.0.200,255.255.255.0"})");
  EXPECT_THAT(Settings(), HasSubstr("\ndhcp-host=0c:42:a1:00:12:01,10.0.0.11,c001\n"));
  const NodePlan compiled = Compile("login1");
  ASSERT_OK(compiled.error);
  ASSERT_EQ(compiled.plan->roles_size(), 1);
  const v1::RolePlan& role = compiled.plan->roles(0);
  std::vector<std::string> names;
  for (const v1::Step& step : role.steps())
    if (step.skip_reason().empty()) names.push_back(step.name());
  EXPECT_THAT(names, ElementsAre("dnsmasq and iPXE", "folder of the boot server",
                                 "settings of DHCP and TFTP"));
  ASSERT_EQ(role.handlers_size(), 1);
  EXPECT_EQ(role.handlers(0).name(), "restart the boot server");
}

// dnsmasq was restarted with a tftp-root that was not there, or with settings that an assert
// refuses.
TEST_F(BootServerRoleTest, ThePartThatListsNodesHasWhatTheSettingsName) {
  options_.tags = {"names"};
  site_["playbooks/roles/boot_server/files/snponly.efi"] = "signed";
  Set(R"({"boot_server_loader": "snponly.efi"})");
  EXPECT_THAT(Settings(), HasSubstr("\ntftp-root=/etc/muster-boot/tftp\n"));
  EXPECT_EQ(File("login1", "/etc/muster-boot/tftp/snponly.efi").mode(), 0644u);
  EXPECT_EQ(Step("login1", "iPXE for machines without UEFI").symlink().target(),
            "/usr/lib/ipxe/undionly.kpxe");
  Set(R"({"boot_server_interface": ""})");
  EXPECT_FALSE(Compile("login1").error.ok());
}

TEST_F(BootServerRoleTest, ALoaderThatTheClusterHasSigned) {
  EXPECT_THAT(Settings(), HasSubstr("\ntftp-root=/usr/lib/ipxe\n"));
  site_["playbooks/roles/boot_server/files/snponly.efi"] = "signed";
  Set(R"({"boot_server_loader": "snponly.efi"})");
  EXPECT_THAT(Settings(), HasSubstr("\ntftp-root=/etc/muster-boot/tftp\n"));
  EXPECT_EQ(File("login1", "/etc/muster-boot/tftp/snponly.efi").mode(), 0644u);
}

TEST_F(BootServerRoleTest, SettingsThatDnsmasqDoesNotReadAreNotUsed) {
  EXPECT_THAT(File("login1", kSettings).validate(),
              ElementsAre("dnsmasq", "--test", "--conf-file=%s"));
}

TEST_F(BootServerRoleTest, RefusesWhatCannotBeMeant) {
  for (const char* variables :
       {R"({"boot_server_interface": ""})", R"({"boot_server_interface": "eno2\nuser=root"})",
        R"({"boot_server_interface": "eno2", "boot_server_address": "login1"})",
        R"({"boot_server_address": "", "boot_server_dhcp_range": "10.0.0.0/24"})",
        R"({"boot_server_dhcp_range": "", "boot_server_host": "login2"})"}) {
    Set(variables);
    const NodePlan plan =
        Compile(std::string(variables).find("login2") == std::string::npos ? "login1" : "login2");
    EXPECT_FALSE(plan.error.ok()) << variables;
  }
}

TEST_F(BootServerRoleTest, DebianAndUbuntuAlone) {
  GiveOs("ubuntu", "24.04");
  EXPECT_OK(Compile("login1").error);
  GiveOs("rocky", "9");
  EXPECT_FALSE(Compile("login1").error.ok());
}

}  // namespace
}  // namespace muster::controller
