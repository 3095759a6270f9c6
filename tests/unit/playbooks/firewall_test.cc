// The role firewall: what it opens follows from what the node serves to people outside.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/playbooks/roles_fixture.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST_F(FirewallTest, ServicesForPeopleAreOpenOnTheNodeThatHasThem) {
  Set(R"({"jupyterhub_host": "login1", "jupyterhub_listen": "0.0.0.0:443",
          "prometheus_host": "login2", "grafana_repository": {"uris": ["http://mirror.example"]},
          "grafana_address": "0.0.0.0"})");
  EXPECT_THAT(Rules("login1"), HasSubstr("\n    tcp dport 22 accept\n    tcp dport 443 accept\n"
                                         "    counter drop\n"));
  EXPECT_THAT(Rules("login2"), HasSubstr("\n    tcp dport 22 accept\n    tcp dport 3000 accept\n"
                                         "    counter drop\n"));
  EXPECT_THAT(Rules("c001"), HasSubstr("\n    tcp dport 22 accept\n    counter drop\n"));
}

TEST_F(FirewallTest, WhatListensAtThisMachineAloneStaysClosed) {
  for (const char* listen : {"127.0.0.1:8000", "localhost:8000", "[::1]:8000"}) {
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
