// The role firewall: what it opens follows from what the node serves to people outside.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/playbooks/roles_fixture.h"
#include "tests/unit/playbooks/stand_in_node.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Said;
using testing::StatusIs;

class FirewallTest : public RolesFixture {
 protected:
  FirewallTest() : RolesFixture("- play: p\n  hosts: all\n  roles: [firewall]\n", {"firewall"}) {
    for (auto& [name, facts] : facts_) facts.erase("nics");
    Set(R"({"external_interface": "eth1"})");
  }
  std::string Rules(const std::string& node) {
    return File(node, "/etc/muster-node/firewall.nft").content();
  }
};

TEST_F(FirewallTest, SshIsOpenAndNothingElse) {
  EXPECT_THAT(Rules("login1"), HasSubstr("\n    tcp dport 22 accept\n    counter drop\n"));
  Set(R"({"ssh_extra_config": ["Port 2222"]})");
  EXPECT_THAT(Rules("login1"), HasSubstr("\n    tcp dport 2222 accept\n    counter drop\n"));
}

TEST_F(FirewallTest, SshIsOpenHoweverItsPortsAreWritten) {
  Set(R"({"ssh_extra_config": ["Port\t2222 # not 22", "ListenAddress 0.0.0.0:2022",
          "listenaddress [2001:db8::2]:2023 rdomain outside", "ListenAddress 2001:db8::3",
          "ListenAddress 10.0.0.1", "GatewayPorts 80"]})");
  EXPECT_THAT(Rules("login1"), HasSubstr("\n    tcp dport 2222 accept\n    tcp dport 2022 accept\n"
                                         "    tcp dport 2023 accept\n    counter drop\n"));
}

// Nobody outside would get in any more.
TEST_F(FirewallTest, RulesThatCloseAPortOfSshdAreRefused) {
  constexpr char kTrial[] = "/usr/local/lib/muster/firewall-trial";
  constexpr char kSettings[] = "/etc/ssh/sshd_config.d/00-muster.conf";
  EXPECT_THAT(File("login1", "/etc/muster-node/firewall.nft").validate(),
              ElementsAre(kTrial, "%s"));
  StandInNode node("firewall-trial", {"/etc/ssh", "/run/sshd", "/usr/local/lib/muster"});
  const auto run = [&] {
    node.Install(kTrial, File("login1", kTrial).content());
    return node.Run(std::vector<std::string>{kTrial, "/dev/null"});
  };
  const auto listens = [&](const char* lines) {
    node.Program("sshd", absl::StrCat("printf '%s\n' 'port 22' ", lines));
  };
  node.Program("nft", "exit 0");
  node.Program("systemctl", "exit 3");
  node.Program("ip", R"(
[[ $* == '-o address show dev eth1' ]] || exit 1
echo '3: eth1    inet 192.0.2.1/24 brd 192.0.2.255 scope global eth1\       valid_lft forever'
echo '3: eth1    inet6 fe80::1/64 scope link')");
  listens("'listenaddress 0.0.0.0:22' 'listenaddress [::1]:99'");
  EXPECT_EQ(run(), 0) << node.output();

  // By a file of the site's own.
  listens("'listenaddress 0.0.0.0:22' 'listenaddress [::]:2222 rdomain x'");
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(node.output(), HasSubstr("add {port: 2222} to firewall_open_also"));
  for (const char* also :
       {R"([{"port": 2222, "from": []}])", R"([{"port": "2200-2300", "protocol": "tcp"}])"}) {
    Set(absl::StrCat("{\"firewall_open_also\": ", also, "}"));
    EXPECT_EQ(run(), 0) << node.output();
  }
  Set(R"({"firewall_open_also": [{"port": 2222, "protocol": "udp"}]})");
  EXPECT_EQ(run(), 1);
  // At addresses of other networks nobody outside reaches it.
  listens(
      "'listenaddress 0.0.0.0:22' 'listenaddress 10.0.0.1:2222' 'listenaddress [fd00::1]:2222'");
  EXPECT_EQ(run(), 0) << node.output();
  for (const char* outside :
       {"'listenaddress 192.0.2.1:2222'", "'listenaddress [fe80::1%eth1]:2222'"}) {
    listens(outside);
    EXPECT_EQ(run(), 1) << outside;
  }
  listens("'listenaddress 0.0.0.0:22' 'listenaddress [::]:2222 rdomain x'");
  Set(R"({"firewall_open": [{"port": "20-30"}]})");
  EXPECT_EQ(run(), 1) << "a range opens ssh";
  Set(R"({"firewall_open": [{"port": "ssh"}]})");
  EXPECT_EQ(run(), 1);
  Set(R"({"firewall_open": [{"port": 443}]})");
  EXPECT_EQ(run(), 0) << "the site leaves ssh closed: " << node.output();
  options_.extra_vars.erase("firewall_open");

  // Where systemd listens, it is asked.
  node.Program("systemctl", R"([[ $1 == --quiet ]] || printf '%s\n' '[::]:22 (Stream)')");
  EXPECT_EQ(run(), 0) << node.output();
  node.Program("systemctl", R"([[ $1 == --quiet ]] || printf '%s\n' '[::]:2022 (Stream)')");
  EXPECT_EQ(run(), 1);
  // Unless a handler of login_access is about to give it the ports of sshd's settings.
  node.Write("/etc/ssh/sshd_config.d/50-site.conf", "");
  node.Program("systemctl", R"(
case $* in
  --quiet*) ;;
  *--timestamp=unix*) echo @1000000000 ;;
  *) printf '%s\n' '[::]:2022 (Stream)' ;;
esac)");
  listens("'listenaddress 0.0.0.0:22'");
  EXPECT_EQ(run(), 0) << node.output();
  listens("'listenaddress 0.0.0.0:22' 'listenaddress [::]:2222 rdomain x'");
  EXPECT_EQ(run(), 1);
  node.Program("systemctl", "exit 3");

  // sshd is about to get the ports of the inventory, which the rules have.
  Set(R"({"ssh_extra_config": ["Port 2022"]})");
  EXPECT_EQ(run(), 0) << node.output();
  node.Write(kSettings, "Port 2022\nUsePAM yes\n");
  EXPECT_EQ(run(), 1);
  node.Program("nft", "echo no >&2; exit 1");
  node.Write(kSettings, "");
  EXPECT_EQ(run(), 1);
}

// Slurm and the file systems would be closed to the other nodes.
TEST_F(FirewallTest, TheInterfaceOfTheClustersNetworkIsRefused) {
  const auto give = [&](const char* address) {
    facts_["login1"]["nics"] =
        nlohmann::ordered_json::parse(absl::StrCat(R"([{"name": "eth0", "addresses": []},
                         {"name": "eth1", "addresses": ["fe80::1/64", ")",
                                                   address, R"("]}])"));
  };
  give("192.0.2.1/24");
  EXPECT_OK(Compile("login1").error);
  give("10.0.0.1/24");
  EXPECT_THAT(Compile("login1").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  Set(R"({"firewall_open_also": [{"port": 2222, "from": []}]})");
  EXPECT_THAT(Compile("login1").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  // The nodes reach this one by its public address.
  Set(R"({"firewall_open_also": [{"port": "6817-6819", "from": ["10.0.0.0/24"]}]})");
  EXPECT_OK(Compile("login1").error);
  Set(R"({"firewall_open_also": [], "firewall_nat": true, "cluster_network": "10.1.0.0/16"})");
  EXPECT_OK(Compile("login1").error);
}

// The packets are those of the bond or the VLAN: no rule would match, and all ports would be open.
TEST_F(FirewallTest, AnInterfaceWhosePacketsAreThoseOfAnotherIsRefused) {
  const v1::CommandResource command =
      Step("login1", "packets come by the external interface itself").command();
  EXPECT_TRUE(command.changes_nothing());
  StandInNode node("firewall-interface", {"/sys/class/net"});
  node.Program("ip", R"([[ $* == '-o address show dev eth1 scope global' ]])");
  const std::string folder = node.root() + "/sys/class/net/eth1";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
  std::filesystem::create_symlink("../bond0", folder + "/master");
  EXPECT_EQ(node.Run(command.argv()), 1);
  EXPECT_THAT(node.output(), HasSubstr("set external_interface: bond0\n"));
  std::filesystem::remove(folder + "/master");

  std::filesystem::create_symlink("../eth1.7", folder + "/upper_eth1.7");
  EXPECT_EQ(node.Run(command.argv()), 1);
  EXPECT_THAT(node.output(), HasSubstr(" carries eth1.7: "));
  // Beside a network of its own.
  node.Program("ip", "echo '3: eth1    inet 192.0.2.1/24 brd 192.0.2.255 scope global eth1'");
  EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
}

TEST_F(FirewallTest, ServicesForPeopleAreOpenOnTheNodeThatHasThem) {
  Set(R"({"jupyterhub_host": "login1", "jupyterhub_listen": "0.0.0.0:443",
          "prometheus_host": "login2", "grafana_repository": {"uris": ["http://mirror.example"]},
          "grafana_address": "0.0.0.0"})");
  EXPECT_THAT(Rules("login1"), HasSubstr("\n    tcp dport 22 accept\n    tcp dport 443 accept\n"
                                         "    counter drop\n"));
  EXPECT_THAT(Rules("login2"), HasSubstr("\n    tcp dport 22 accept\n    tcp dport 394 accept\n"
                                         "    counter drop\n"));
  EXPECT_THAT(Rules("c001"), HasSubstr("\n    tcp dport 22 accept\n    counter drop\n"));
}

TEST_F(FirewallTest, WhatListensAtThisMachineAloneStaysClosed) {
  for (const char* listen : {"127.0.0.1:300", "localhost:300", "[::1]:300"}) {
    Set(R"({"jupyterhub_host": "login1", "prometheus_host": "login1",
            "grafana_repository": {"uris": ["http://mirror.example"]}})");
    options_.extra_vars["jupyterhub_listen"] = listen;
    EXPECT_THAT(Rules("login1"), HasSubstr("\n    tcp dport 22 accept\n    counter drop\n"))
        << listen;
  }
}

TEST_F(FirewallTest, TheSiteOpensMoreOrSaysAllByItself) {
  Set(R"({"firewall_open_also": [{"port": 8443, "from": ["192.0.2.0/24"]}]})");
  EXPECT_THAT(Rules("login1"),
              AllOf(HasSubstr("\n    tcp dport 22 accept\n"),
                    HasSubstr("\n    ip saddr 192.0.2.0/24 tcp dport 8443 accept\n")));
  Set(R"({"firewall_open": [{"port": 80}]})");
  EXPECT_THAT(Rules("login1"), AllOf(HasSubstr("\n    tcp dport 80 accept\n    counter drop\n"),
                                     Not(HasSubstr("dport 22 ")), Not(HasSubstr("8443"))));
}

// The kernel dropped the default route that its router had announced.
TEST_F(FirewallTest, AnnouncedRoutersStayInUseWhereTheNodeRoutes) {
  Set(R"({"firewall_nat": true, "cluster_network": "10.1.0.0/16"})");
  EXPECT_NE(Step("login1", "announced routers stay in use").skip_reason(), "");
  Set(R"({"cluster_network": "2001:db8::/64"})");
  const v1::CommandResource command = Step("login1", "announced routers stay in use").command();
  const NodePlan plan = Compile("login1");
  ASSERT_OK(plan.error);
  std::vector<std::string> order;
  for (const v1::Step& step : plan.plan->roles(0).steps())
    if (step.name() == "announced routers stay in use" ||
        step.name() == "routing for the cluster's nodes")
      order.push_back(step.name());
  EXPECT_THAT(order,
              ElementsAre("announced routers stay in use", "routing for the cluster's nodes"));

  constexpr char kSetting[] = "/proc/sys/net/ipv6/conf/eth1/accept_ra";
  StandInNode node("announced-routers", {"/proc/sys/net", "/etc/sysctl.d"});
  node.Write("/etc/sysctl.d/10-site.conf", "");
  for (const char* left : {"0\n", "2\n"}) {
    node.Write(kSetting, left);
    EXPECT_EQ(node.Run(command.unless()), 0) << left;
  }
  node.Write(kSetting, "1\n");
  EXPECT_NE(node.Run(command.unless()), 0);
  EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
  EXPECT_EQ(node.Run(command.unless()), 0);
  EXPECT_EQ(node.Read(kSetting), "2\n");
  EXPECT_THAT(node.Read("/etc/sysctl.d/60-muster-accept-ra.conf"),
              HasSubstr("\nnet/ipv6/conf/eth1/accept_ra = 2\n"));
}

TEST_F(FirewallTest, SwitchedOffItLeavesWithItsRules) {
  Set(R"({"external_interface": ""})");
  const v1::Step step = Step("login1", "no packet filter");
  EXPECT_EQ(step.skip_reason(), "");
  EXPECT_THAT(step.command().unless(),
              ElementsAre("test", "!", "-e", "/etc/systemd/system/muster-firewall.service"));
  EXPECT_EQ(Rules("login1"), "");
}

}  // namespace
}  // namespace muster::controller
