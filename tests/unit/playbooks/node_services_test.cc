// The roles that tie nodes to each other, on Debian, Ubuntu and Enterprise Linux: log_forwarding,
// ssh_host_keys, jupyterhub.
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
using ::testing::UnorderedElementsAre;

constexpr char kServices[] = R"(
- play: p
  hosts: all
  roles:
    - log_forwarding
    - ssh_host_keys
    - {role: jupyterhub, when: jupyterhub_host != ""}
)";

constexpr char kForward[] = "/etc/rsyslog.d/00-muster-forward.conf";
constexpr char kReceive[] = "/etc/rsyslog.d/00-muster-receive.conf";
constexpr char kHub[] = "/etc/jupyterhub/muster_config.py";
constexpr char kKnownHosts[] = "/etc/ssh/ssh_known_hosts";

class NodeServicesTest : public RolesFixture {
 protected:
  NodeServicesTest() : RolesFixture(kServices, {"log_forwarding", "ssh_host_keys", "jupyterhub"}) {}
};

TEST_F(NodeServicesTest, WithoutALogHostNothingIsThere) {
  for (const char* node : {"login1", "c001"}) {
    for (const char* path : {kForward, kReceive, "/etc/systemd/system/muster-node-logs.timer"})
      EXPECT_EQ(File(node, path).state(), v1::PRESENCE_ABSENT) << path;
    EXPECT_FALSE(Step(node, "rsyslog").skip_reason().empty());
    EXPECT_EQ(Step(node, "no logs are set aside").unit().state(), v1::UNIT_STATE_STOPPED);
  }
}

TEST_F(NodeServicesTest, NodesSendToTheLogHostAndNeverWaitForIt) {
  Set(R"({"log_host": "login1", "log_selector": "*.info", "log_queue_size": "1g"})");
  for (const char* node : {"login2", "c001"}) {
    EXPECT_THAT(File(node, kForward).content(),
                AllOf(HasSubstr("\nif prifilt(\"*.info\") then {\n"),
                      HasSubstr(" target=\"10.0.0.1\" port=\"601\"\n"),
                      HasSubstr(" queue.maxDiskSpace=\"1g\""), HasSubstr("timeoutEnqueue=\"0\"")));
    EXPECT_EQ(File(node, kReceive).state(), v1::PRESENCE_ABSENT);
  }
  EXPECT_THAT(File("c001", kForward).validate(), ElementsAre("rsyslogd", "-N1", "-f", "%s"));
  EXPECT_EQ(File("login1", kForward).state(), v1::PRESENCE_ABSENT);
}

TEST_F(NodeServicesTest, TheLogHostKnowsNodesByTheirAddressesAlone) {
  Set(R"({"log_host": "login1", "log_files_kept": 7})");
  EXPECT_THAT(File("login1", kReceive).content(),
              AllOf(HasSubstr("\n$AllowedSender TCP, [2001:db8::2]\n"),
                    HasSubstr("\n$AllowedSender TCP, 10.0.0.11\n"),
                    Not(HasSubstr("$AllowedSender TCP, 10.0.0.1\n")),
                    HasSubstr("\ninput(type=\"imtcp\" address=\"10.0.0.1\" port=\"601\""),
                    HasSubstr("\n  set $.node = \"login1\";\n")));
  const auto names =
      nlohmann::json::parse(File("login1", "/etc/rsyslog.d/muster-nodes.json").content());
  EXPECT_EQ(names["nomatch"], "");
  EXPECT_EQ(names["table"], nlohmann::json::parse(R"([
      {"index": "2001:db8::2", "value": "login2"}, {"index": "10.0.0.11", "value": "c001"}])"));
  EXPECT_THAT(File("login1", "/etc/muster-node/node-logs.logrotate").content(),
              AllOf(HasSubstr("\n/var/log/nodes/*.log {\n"), HasSubstr("\n  maxsize 64M\n"),
                    HasSubstr("\n  rotate 7\n")));

  Set(R"({"log_host": "login2"})");
  EXPECT_THAT(File("login2", kReceive).content(), HasSubstr(" address=\"2001:db8::2\" "));
  EXPECT_EQ(File("login1", kReceive).state(), v1::PRESENCE_ABSENT);
}

TEST_F(NodeServicesTest, LogsBelongToWhomRsyslogRunsAs) {
  const struct {
    const char *os, *version, *owner, *group;
  } kCases[] = {{"debian", "12", "root", "adm"},
                {"debian", "13", "root", "adm"},
                {"ubuntu", "22.04", "syslog", "adm"},
                {"ubuntu", "24.04", "syslog", "adm"},
                {"rocky", "9.4", "root", "root"}};
  Set(R"({"log_host": "login1"})");
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.os, " ", c.version));
    GiveOs(c.os, c.version);
    const v1::DirectoryResource folder = Step("login1", "folder of the nodes' logs").directory();
    EXPECT_EQ(folder.owner(), c.owner);
    EXPECT_EQ(folder.group(), c.group);
    EXPECT_EQ(folder.mode(), 0750u);
  }
}

TEST_F(NodeServicesTest, HostKeysAreWrittenWhereTheSiteAsksForThem) {
  facts_["c001"]["ssh_host_keys"] = nlohmann::ordered_json::parse(
      R"([{"type": "ssh-dss", "key": "DDDD"}, {"type": "ssh-rsa", "key": "AAAA"},
          {"type": "ssh-ed25519", "key": "BBBB="}])");
  EXPECT_EQ(File("login1", kKnownHosts).content(), "");
  EXPECT_FALSE(Step("login1", "host keys of the nodes").skip_reason().empty());

  Set(R"({"ssh_known_hosts": true, "base_domain": "x.example",
          "ssh_extra_known_hosts": "nas,10.0.0.9 ssh-ed25519 CCCC"})");
  facts_["login2"].erase("ssh_host_keys");
  facts_.erase("login1");  // it has not reported any facts
  EXPECT_EQ(File("c001", kKnownHosts).content(),
            "# Written by Muster from the inventory and what the nodes say of their own keys; "
            "changes made here are lost.\n"
            "c001,c001.x.example,10.0.0.11 ssh-ed25519 BBBB=\n"
            "c001,c001.x.example,10.0.0.11 ssh-rsa AAAA\n"
            "nas,10.0.0.9 ssh-ed25519 CCCC\n");
  EXPECT_FALSE(Step("c001", "no host keys of the nodes").skip_reason().empty());
}

TEST_F(NodeServicesTest, JupyterHubIsOnOneLoginNodeAndServersOnWorkers) {
  EXPECT_THAT(RolesOf("login1"), UnorderedElementsAre("log_forwarding", "ssh_host_keys"));
  Set(R"({"jupyterhub_host": "login1", "jupyterhub_most_gpus": 4, "jupyterhub_admins": "boss"})");
  EXPECT_THAT(
      File("login1", kHub).content(),
      AllOf(HasSubstr("\nc.JupyterHub.bind_url = \"http://127.0.0.1:300\"\n"),
            HasSubstr("\nc.JupyterHub.hub_bind_url = \"http://10.0.0.1:301\"\n"),
            HasSubstr("\nc.Authenticator.admin_users = set([\"boss\"])\n"),
            HasSubstr("\n    c.Authenticator.allow_all = True\n"), Not(HasSubstr("allowed_groups")),
            Not(HasSubstr("ssl_")), Not(HasSubstr("subdomain_host")),
            HasSubstr("\nc.ConfigurableHTTPProxy.api_url = \"http://127.0.0.1:302\"\n"),
            HasSubstr("\nc.SlurmSpawner.most_gpus = 4\n"),
            HasSubstr("\nc.Spawner.args = [\"jupyterhub-singleuser\"]\n")));
  EXPECT_EQ(File("login1", kHub).mode(), 0600u);
  EXPECT_TRUE(Step("c001", "no JupyterHub on workers").unit().masked());
  EXPECT_THAT(Step("c001", "users' servers").package().names(), ElementsAre("jupyterhub"));
  EXPECT_EQ(File("c001", kHub).state(), v1::PRESENCE_UNSPECIFIED);
  EXPECT_EQ(Step("login2", "no JupyterHub").package().state(), v1::PACKAGE_STATE_ABSENT);

  Set(R"({"jupyterhub_host": "login2", "jupyterhub_listen": "[::]:443", "jupyterhub_groups": "people",
          "jupyterhub_tls_certificate": "/etc/ssl/hub.pem", "jupyterhub_tls_key": "/etc/ssl/hub.key",
          "jupyterhub_subdomain_host": "https://hub.example",
          "jupyterhub_extra_config": "c.Spawner.default_url = '/lab'"})");
  EXPECT_THAT(File("login2", kHub).content(),
              AllOf(HasSubstr("\nc.JupyterHub.bind_url = \"https://[::]:443\"\n"),
                    HasSubstr("\nc.JupyterHub.ssl_key = \"/etc/ssl/hub.key\"\n"),
                    HasSubstr("\nc.JupyterHub.subdomain_host = \"https://hub.example\"\n"),
                    HasSubstr("\nc.JupyterHub.hub_bind_url = \"http://[2001:db8::2]:301\"\n"),
                    HasSubstr("\nc.LocalAuthenticator.allowed_groups = set([\"people\"])\n"),
                    Not(HasSubstr("allow_all")), HasSubstr("\nc.Spawner.default_url = '/lab'\n")));
}

// Whoever took the old port next was given the passwords that a web server still brought there.
TEST_F(NodeServicesTest, JupyterHubLeavesAPortOfUsersOnlyWhenNothingLeadsThere) {
  Set(R"({"jupyterhub_host": "login1"})");
  const v1::CommandResource command =
      Step("login1", "nothing leads to a port that JupyterHub leaves to users").command();
  EXPECT_TRUE(command.changes_nothing());
  StandInNode node("jupyterhub-port", {"/etc/"});
  EXPECT_EQ(node.Run(command.argv()), 0) << "a first installation";
  node.Write(kHub, "import sys\nc.JupyterHub.bind_url = \"http://127.0.0.1:8000\"\n");
  EXPECT_EQ(node.Run(command.argv()), 1);
  EXPECT_THAT(node.output(),
              AllOf(HasSubstr("moves from port 8000 to 300"), HasSubstr("muster_config.py on ")));
  node.Write(kHub, "c.JupyterHub.bind_url = \"https://[::]:443\"\n");
  EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
  node.Write(kHub, File("login1", kHub).content());
  EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
}

// Only the node that has the ports is refused.
TEST_F(NodeServicesTest, PortsOfJupyterHubThatUsersCouldTakeLeaveOtherNodesAlone) {
  Set(R"({"jupyterhub_host": "login1", "jupyterhub_listen": "127.0.0.1:8000"})");
  EXPECT_FALSE(Compile("login1").error.ok());
  EXPECT_OK(Compile("login2").error);
  EXPECT_OK(Compile("c001").error);
}

// A shared environment has what no package of the distribution has.
TEST_F(NodeServicesTest, WorkersWithoutAPackageOfJupyterHubTakeItFromASharedEnvironment) {
  facts_["c001"]["os"]["id"] = "rocky";
  Set(R"({"jupyterhub_host": "login1"})");
  EXPECT_OK(Compile("login1").error);
  EXPECT_THAT(Compile("c001").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  Set(R"({"jupyterhub_worker_packages": [], "jupyterhub_server": "/apps/bin/jupyterhub-singleuser"})");
  EXPECT_FALSE(Step("c001", "users' servers").skip_reason().empty());
  EXPECT_THAT(File("login1", kHub).content(),
              HasSubstr("\nc.Spawner.args = [\"/apps/bin/jupyterhub-singleuser\"]\n"));
}

TEST_F(NodeServicesTest, RefusesContradictionsWithTheirRemedy) {
  const struct {
    const char *what, *variables;
    const char* node = "c001";
  } kCases[] = {
      {"logs on a worker", R"({"log_host": "c001"})"},
      {"a port that is none", R"({"log_port": 70000})"},
      {"a selector that is none", R"({"log_selector": "*.info\") then stop"})"},
      {"a size that is none", R"({"log_queue_size": "much"})"},
      {"no file", R"({"log_files_kept": 0})"},
      {"a folder with a pattern", R"({"log_directory": "/var/log/*"})"},
      {"a type of key that is none", R"({"ssh_known_hosts": true, "ssh_host_key_types": ["rsa"]})"},
      {"JupyterHub on a worker", R"({"jupyterhub_host": "c001"})"},
      {"an address without a port",
       R"({"jupyterhub_host": "login1", "jupyterhub_listen": "login1"})"},
      {"a certificate without its key",
       R"({"jupyterhub_host": "login1", "jupyterhub_tls_certificate": "/etc/ssl/hub.pem"})"},
      {"passwords in the clear",
       R"({"jupyterhub_host": "login1", "jupyterhub_listen": "10.0.0.1:300"})"},
      {"one port for two", R"({"jupyterhub_host": "login1", "jupyterhub_hub_port": 300})"},
      {"a port for browsers that a user could take",
       R"({"jupyterhub_host": "login1", "jupyterhub_listen": "127.0.0.1:8000"})", "login1"},
      {"a port of the hub that a user could take",
       R"({"jupyterhub_host": "login1", "jupyterhub_hub_port": 1024})", "login1"},
      {"a port of the proxy that a user could take",
       R"({"jupyterhub_host": "login1", "jupyterhub_proxy_port": 8001})", "login1"},
      {"a name without a scheme",
       R"({"jupyterhub_host": "login1", "jupyterhub_subdomain_host": "hub.example"})"},
      {"a partition that is none",
       R"({"jupyterhub_host": "login1", "jupyterhub_partitions": ["gpu"]})"},
      {"no time", R"({"jupyterhub_host": "login1", "jupyterhub_most_hours": 0})"},
      {"groups in one text", R"({"jupyterhub_host": "login1", "jupyterhub_groups": "a,b"})"},
      {"a key without names",
       R"({"ssh_known_hosts": true, "ssh_extra_known_hosts": ["ssh-rsa AAAA"]})"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    options_.extra_vars = {};
    Set(R"({"log_host": "login1"})");
    Set(c.variables);
    EXPECT_THAT(Compile(c.node).error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
  options_.extra_vars = {};
  Set(R"({"log_host": "login1"})");
  UseInventory(
      "cluster: x\nnodes: {login1: {role: login, address: 10.0.0.1}, c001: {role: compute}}\n");
  EXPECT_THAT(Compile("c001").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller
