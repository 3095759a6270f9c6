// What the shipped playbooks make of a cluster, and refuse.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/playbooks/site_fixture.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Said;
using testing::StatusIs;

TEST_F(SiteTest, EndsWithASuiteForEveryWorker) {
  const auto playbook = LoadPlaybook(site_, "playbooks/site.yaml");
  ASSERT_OK(playbook);
  for (const auto& example : std::filesystem::directory_iterator("inventory/examples")) {
    SCOPED_TRACE(example.path());
    UseCluster(example.path().filename());
    const auto endings = SelectEndings(**playbook, inventory_, "", {});
    ASSERT_OK(endings);
    ASSERT_EQ(endings->size(), 1u);
    EXPECT_EQ(endings->at(0).suite, "acceptance");
    const auto workers =
        std::count_if(inventory_.nodes().begin(), inventory_.nodes().end(),
                      [](const Node& node) { return node.role == NodeRole::kCompute; });
    EXPECT_EQ(endings->at(0).nodes.size(), static_cast<size_t>(workers));
  }
}

TEST_F(SiteTest, NodesFollowTheServersThatAreNamed) {
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  const auto plans = CompileAll();
  EXPECT_EQ(CountSteps(plans, "time", "chrony may set the clock", /*skipped=*/false), 7);
  EXPECT_THAT(Content(plans, "/etc/chrony/sources.d/muster.sources"),
              HasSubstr("\nserver ntp1.university.example iburst prefer\n"
                        "server ntp2.university.example iburst prefer\n"));
  EXPECT_THAT(Content(plans, "/etc/chrony/conf.d/muster.conf"), Not(HasSubstr("allow")));
}

TEST_F(SiteTest, ANodeServesTimeToTheOthersAndDoesNotAskItself) {
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  options_.extra_vars["ntp_servers"] = nlohmann::ordered_json::array({"login1"});
  options_.extra_vars["ntp_serve"] = true;
  const auto plans = CompileAll();
  // login1 comes first.
  EXPECT_THAT(Content(plans, "/etc/chrony/sources.d/muster.sources"), Not(HasSubstr("server ")));
  EXPECT_THAT(Content(plans, "/etc/chrony/conf.d/muster.conf"),
              HasSubstr("\nlocal stratum 10\nallow 10."));
}

TEST_F(SiteTest, DockerGetsWhatItsVersionKnows) {
  UseCluster("carme-1080ti");
  options_.extra_vars["container_gpus"] = true;
  options_.extra_vars["container_repositories"] = nlohmann::ordered_json::parse(
      R"([{"name": "vendor", "uris": "http://mirror.example", "suites": "./", "key": "KEY"}])");
  options_.extra_vars["docker_data_directory"] = "/scratch_local/docker";
  options_.extra_vars["docker_extra_settings"] = {{"log-driver", "journald"}};
  options_.extra_vars["container_registry_mirrors"] = nlohmann::ordered_json::parse(
      R"([{"registry": "docker.io", "location": "a:5000", "insecure": true},
          {"registry": "docker.io", "location": "b"}, {"registry": "quay.io", "location": "c"}])");
  for (const bool knows_cdi : {false, true}) {
    GiveFacts(knows_cdi ? "13" : "12", "none", 4);
    const auto plans = CompileAll();
    const auto daemon =
        nlohmann::json::parse(Content(plans, "/etc/docker/daemon.json"), nullptr, false);
    ASSERT_TRUE(daemon.is_object()) << Content(plans, "/etc/docker/daemon.json");
    EXPECT_EQ(daemon["live-restore"], true);
    // Also with CDI: `--gpus` and the runtime `nvidia` do without it.
    EXPECT_EQ(daemon["exec-opts"][0], "native.cgroupdriver=cgroupfs");
    EXPECT_EQ(daemon.contains("features"), knows_cdi);
    EXPECT_EQ(daemon["data-root"], "/scratch_local/docker");
    EXPECT_EQ(daemon["log-driver"], "journald");
    EXPECT_EQ(daemon["registry-mirrors"],
              nlohmann::json::parse(R"(["http://a:5000", "https://b"])"));
    EXPECT_EQ(CountSteps(plans, "container_runtime", "container toolkit", /*skipped=*/false), 16);
    EXPECT_EQ(CountSteps(plans, "container_runtime", "podman", /*skipped=*/true), 16);
  }
  options_.extra_vars["container_gpus"] = false;
  EXPECT_THAT(Content(CompileAll(), "/etc/docker/daemon.json"),
              HasSubstr("\"native.cgroupdriver=systemd\""));
}

TEST_F(SiteTest, UsersHaveTheSameIdsInContainersOnEveryNode) {
  UseCluster("guide-cluster");
  GiveFacts("12", "none", 4);
  options_.extra_vars["apptainer_packages"] = nlohmann::ordered_json::array({"apptainer"});
  options_.extra_vars["cluster_groups"] =
      nlohmann::ordered_json::parse(R"([{"name": "people", "gid": 2000}])");
  options_.extra_vars["cluster_users"] = nlohmann::ordered_json::parse(
      R"([{"name": "ann", "uid": 2001, "group": "people"},
          {"name": "bob", "uid": 65534, "group": "people"},
          {"name": "eve", "uid": 65535, "group": "people"}])");
  const auto plans = CompileAll();
  EXPECT_EQ(Content(plans, "/etc/subuid"), "ann:131137536:65536\nbob:4294836224:65536\n");
  EXPECT_EQ(Content(plans, "/etc/subgid"), Content(plans, "/etc/subuid"));
  // Above the ids up to 2,000,200,000 that sssd computes.
  options_.extra_vars["sssd_id_mapping"] = true;
  EXPECT_EQ(Content(CompileAll(), "/etc/subuid"), "ann:2131361792:65536\n");
  options_.extra_vars.erase("sssd_id_mapping");
  // Podman uses any folder of the user's name, so nobody else may make one.
  options_.extra_vars["container_runtimes"] = nlohmann::ordered_json::array({"podman"});
  options_.extra_vars["podman_user_storage_directory"] = "/scratch";
  std::set<std::string> folders;
  for (const v1::Plan& plan : CompileAll())
    for (const v1::RolePlan& role : plan.roles())
      for (const v1::Step& step : role.steps())
        if (absl::StartsWith(step.directory().path(), "/scratch"))
          folders.insert(absl::StrFormat("%s %s %o", step.directory().path(),
                                         step.directory().owner(), step.directory().mode()));
  EXPECT_THAT(folders, ElementsAre("/scratch root 755", "/scratch/ann 2001 700",
                                   "/scratch/bob 65534 700", "/scratch/eve 65535 700"));
}

TEST_F(SiteTest, PyxisIsOnEveryNodeThatJobsStartFromOrRunOn) {
  UseCluster("lrz-dgx");
  GiveFacts("12", "none", 4);
  const auto plans = CompileAll();
  EXPECT_EQ(CountSteps(plans, "pyxis", "pyxis", /*skipped=*/false), 7);
  EXPECT_EQ(CountSteps(plans, "pyxis", "pyxis in plugstack.conf", /*skipped=*/false), 1);
  EXPECT_THAT(Content(plans, "/etc/enroot/enroot.conf"),
              HasSubstr("\nENROOT_DATA_PATH "
                        "$(/usr/local/lib/muster/user-folder /var/lib/enroot/data)\n"));
}

TEST_F(SiteTest, PeopleComeAfterTheFileSystemsThatTheirHomesLieOn) {
  UseCluster("carme-1080ti");
  GiveFacts("12", "none", 4);
  int count = 0;
  for (const v1::Plan& plan : CompileAll()) {
    for (const v1::RolePlan& role : plan.roles()) {
      const bool mounts = std::any_of(plan.roles().begin(), plan.roles().end(),
                                      [](const auto& r) { return r.name() == "beegfs_client"; });
      if (role.name() != "people" || !mounts) continue;
      EXPECT_THAT(role.needs(),
                  ElementsAre("users", "beegfs_client", "nfs_client", "lustre_client"));
      ++count;
    }
  }
  EXPECT_EQ(count, 17);
}

// The account of somebody whom the directory has, too, could not be made while sssd answered for
// the name.
TEST_F(SiteTest, PeopleComeWhenTheDirectoryNoLongerAnswersForTheirNames) {
  UseCluster("carme-1080ti");
  GiveFacts("12", "none", 4);
  options_.extra_vars["sssd_uris"] = nlohmann::ordered_json::parse(R"(["ldaps://ldap1.example"])");
  options_.extra_vars["sssd_base"] = "dc=example,dc=org";
  options_.extra_vars["sssd_allowed_groups"] = nlohmann::ordered_json::parse(R"(["hpc"])");
  int count = 0;
  for (const v1::Plan& plan : CompileAll())
    for (const v1::RolePlan& role : plan.roles()) {
      if (role.name() == "sssd") {
        EXPECT_THAT(role.needs(), ElementsAre("users"));
      }
      if (role.name() != "people") continue;
      EXPECT_THAT(role.needs(), Contains("sssd"));
      ++count;
    }
  EXPECT_GT(count, 0);
}

TEST_F(SiteTest, OnlyKeysThatTheInventoryHasAreItsOwn) {
  UseCluster("guide-cluster");
  GiveFacts("12", "none", 4);
  options_.extra_vars["cluster_groups"] =
      nlohmann::ordered_json::parse(R"([{"name": "people", "gid": 2000}])");
  options_.extra_vars["cluster_users"] = nlohmann::ordered_json::parse(
      R"([{"name": "ann", "uid": 2001, "group": "people", "keys": ["ssh-ed25519 A"]},
          {"name": "bob", "uid": 2002, "group": "people", "keys": []},
          {"name": "eve", "uid": 2003, "group": "people"}])");
  std::set<std::string> keys;
  for (const v1::Plan& plan : CompileAll())
    for (const v1::RolePlan& role : plan.roles())
      for (const v1::Step& step : role.steps())
        if (role.name() == "people" && step.has_user())
          keys.insert(absl::StrCat(step.user().name(), " ", step.user().authorized_keys_size(), " ",
                                   step.user().no_authorized_keys() ? "none" : ""));
  EXPECT_THAT(keys, ElementsAre("ann 1 ", "bob 0 none", "eve 0 "));
}

// A text would be taken apart into its letters.
TEST_F(SiteTest, ATextIsAListOfOne) {
  UseCluster("carme-1080ti");
  GiveFacts("12", "none", 4);
  options_.extra_vars = {
      {"beegfs_interfaces", "ib0"},
      {"beegfs_mount_options", "noatime"},
      {"slurm_extra_config", "MaxArraySize=2000"},
      {"ntp_servers", "ntp.example"},
      {"nfs_exports", {{{"path", "/srv"}, {"clients", "10.0.0.0/8"}, {"options", "ro"}}}},
      {"prometheus_host", "storage1"},
      {"alert_emails", "ann@example"},
      {"alert_smtp_host", "mail.example:25"},
      {"external_interface", "eth1"},
      {"firewall_open", {{{"port", 443}, {"from", "192.0.2.0/24"}}}}};
  const auto plans = CompileAll();
  EXPECT_EQ(Content(plans, "/etc/beegfs/interfaces.conf"), "ib0\n");
  EXPECT_THAT(Content(plans, "/etc/slurm/slurm.conf"), HasSubstr("\nMaxArraySize=2000\n"));
  EXPECT_THAT(Content(plans, "/etc/chrony/sources.d/muster.sources"),
              HasSubstr("\nserver ntp.example iburst"));
  EXPECT_THAT(Content(plans, "/etc/exports.d/muster.exports"),
              HasSubstr("\n/srv 10.0.0.0/8(ro)\n"));
  EXPECT_THAT(Content(plans, "/etc/prometheus/alertmanager.yml"),
              HasSubstr("\n      - {to: \"ann@example\", "));
  EXPECT_THAT(Content(plans, "/etc/muster-node/firewall.nft"),
              HasSubstr("\n    ip saddr 192.0.2.0/24 tcp dport 443 accept\n"));
}

TEST_F(SiteTest, PrometheusAsksExportersWhereTheyListen) {
  absl::StatusOr<Inventory> inventory =
      ParseInventory({{"c.yaml",
                       "cluster: x\nnodes: {login1: {role: login, address: \"2001:db8::1\"}, "
                       "c001: {role: compute, address: 10.0.0.1}}\nvars: {prometheus_host: login1, "
                       "node_exporter_port: 9200}\n"}});
  ASSERT_OK(inventory);
  inventory_ = *std::move(inventory);
  GiveFacts("12", "none", 0);
  const auto plans = CompileAll();
  EXPECT_THAT(Content(plans, "/etc/prometheus/prometheus.yml"),
              AllOf(HasSubstr("targets: [\"[2001:db8::1]:9200\"]"),
                    HasSubstr("targets: [\"10.0.0.1:9200\"]")));
  EXPECT_THAT(Content(plans, "/etc/default/prometheus-node-exporter"),
              HasSubstr("--web.listen-address=[2001:db8::1]:9200 "));
}

// It would be called silent for ever.
TEST_F(SiteTest, PrometheusDoesNotAskNodesThatCannotHaveAnExporter) {
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  facts_["c001"]["os"]["id"] = "rocky";
  facts_["c001"]["os"]["version_id"] = "9.4";
  options_.extra_vars["prometheus_host"] = "login1";
  const auto plans = CompileAll();
  EXPECT_THAT(Content(plans, "/etc/prometheus/prometheus.yml"),
              AllOf(Not(HasSubstr("node: \"c001\"")), HasSubstr("node: \"c002\"")));
  EXPECT_EQ(CountSteps(plans, "node_exporter", "exporter", /*skipped=*/false), 6);
  EXPECT_EQ(CountSteps(plans, "node_exporter", "exporter", /*skipped=*/true), 1);
}

// Nobody outside would get in any more.
TEST_F(SiteTest, TheFilterIsOpenWhereSshdListens) {
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  options_.extra_vars["external_interface"] = "eth1";
  EXPECT_THAT(Content(CompileAll(), "/etc/muster-node/firewall.nft"),
              HasSubstr("\n    tcp dport 22 accept\n"));
  options_.extra_vars["ssh_extra_config"] = {"Port 2222", "port = 2022", "X11Forwarding no"};
  EXPECT_THAT(Content(CompileAll(), "/etc/muster-node/firewall.nft"),
              HasSubstr("\n    tcp dport 2222 accept\n    tcp dport 2022 accept\n    counter"));
}

// It would close the cluster's own ports.
TEST_F(SiteTest, FirewalldIsStoppedWhereEl9StartsIt) {
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  facts_["c001"]["os"]["id"] = "rocky";
  facts_["c001"]["os"]["version_id"] = "9.4";
  const auto stopped = [&](const std::string& node) {
    int count = 0;
    for (const v1::Plan& plan : CompileAll())
      for (const v1::RolePlan& role : plan.roles())
        for (const v1::Step& step : role.steps())
          count += plan.node_name() == node && step.unit().name() == "firewalld.service" &&
                   step.skip_reason().empty() && step.unit().state() == v1::UNIT_STATE_STOPPED &&
                   step.unit().has_enabled() && !step.unit().enabled();
    return count;
  };
  EXPECT_GT(stopped("c001"), 0);
  EXPECT_EQ(stopped("c002"), 0);
  options_.extra_vars["base_firewalld"] = "kept";
  EXPECT_EQ(stopped("c001"), 0);
}

// A login node without a network outside the cluster's has no filter of Muster's.
TEST_F(SiteTest, FirewalldLetsTheNodesInWhereEl9KeepsIt) {
  absl::StatusOr<Inventory> inventory = ParseInventory(
      {{"c.yaml",
        "cluster: x\nnodes: {login1: {role: login, address: 10.0.0.1}, c001: {role: compute, "
        "address: 10.0.0.11}}\n"}});
  ASSERT_OK(inventory);
  inventory_ = *std::move(inventory);
  GiveFacts("9.4", "none", 0);
  for (auto& [name, facts] : facts_) facts["os"]["id"] = "rocky";
  const auto opened = [&](bool skipped) {
    return CountSteps(CompileAll(), "base", "firewalld lets the nodes in", skipped);
  };
  EXPECT_EQ(opened(/*skipped=*/false), 1);
  EXPECT_EQ(opened(/*skipped=*/true), 1) << "the worker";
  options_.extra_vars["external_interface"] = "eth1";
  EXPECT_EQ(opened(/*skipped=*/false), 0);
  options_.extra_vars = {{"base_firewalld", "kept"}};
  EXPECT_EQ(opened(/*skipped=*/false), 0);
}

TEST_F(SiteTest, RefusesContradictionsWithTheirRemedy) {
  const struct {
    const char *what, *variables;
  } kCases[] = {
      {"scratch without a prolog", R"({"local_scratch": "/scratch"})"},
      {"Prometheus on a worker", R"({"prometheus_host": "c001"})"},
      {"mails without a server", R"({"prometheus_host": "login1", "alert_emails": "a@example"})"},
      {"a share of a worker", R"({"share": {"server": "c001", "export": "/a", "mount": "/a"}})"},
      {"an interface that the node lacks", R"({"external_interface": "eth7"})"},
      {"a way out for nobody", R"({"external_interface": "eth1", "firewall_nat": true})"},
      {"a port that is none",
       R"({"external_interface": "eth1", "firewall_open": [{"port": "22 80"}]})"},
      {"a protocol that is none",
       R"({"external_interface": "eth1", "firewall_open": [{"port": 22, "protocol": "ssh"}]})"},
      {"a network that is none",
       R"({"external_interface": "eth1", "firewall_open": [{"port": 22, "from": "a b"}]})"},
      {"somebody who has left and is there",
       R"({"cluster_groups": [{"name": "people", "gid": 2000}], "former_users": ["ann"],
           "cluster_users": [{"name": "ann", "uid": 2001, "group": "people"}]})"},
      {"root among those who have left", R"({"former_users": "root"})"},
      {"a series of BeeGFS that is none",
       R"({"beegfs_management_host": "nas", "beegfs_mount": "/beegfs", "beegfs_version": "7.3"})"},
      {"a disk for an unknown service",
       R"({"beegfs_management_host": "login1", "beegfs_disks": [{"service": "meta",
           "path": "/data/meta", "device": "/dev/disk/by-id/a"}]})"},
      {"a disk for no service",
       R"({"beegfs_management_host": "login1", "beegfs_disks": [{"path": "/data/meta"}]})"},
      {"two disks for the metadata of a node",
       R"({"beegfs_management_host": "login1", "beegfs_disks": [
           {"service": "metadata", "path": "/data/a", "device": "/dev/disk/by-id/a"},
           {"service": "metadata", "path": "/data/b", "device": "/dev/disk/by-id/b"}]})"},
      {"BeeOND without a prolog", R"({"beeond_path": "/scratch"})"},
      {"BeeOND in its own data",
       R"({"slurm_prolog": true, "beeond_path": "/scratch", "beeond_mount": "/scratch/mount"})"},
      {"BeeOND where the cluster's BeeGFS is",
       R"({"slurm_prolog": true, "beeond_path": "/scratch", "beeond_mount": "/beegfs",
           "beegfs_management_host": "nas", "beegfs_mount": "/beegfs"})"},
      {"BeeOND that takes longer than a prolog may",
       R"({"slurm_prolog": true, "beeond_path": "/scratch", "beeond_seconds": 120})"},
      {"a check of GPUs that takes longer than a prolog may",
       R"({"slurm_prolog": true, "slurm_prolog_gpu_seconds": 58})"},
      {"BeeOND with a private key in the inventory",
       R"({"slurm_prolog": true, "beeond_path": "/scratch",
           "beeond_ssh_public_key": "-----BEGIN OPENSSH PRIVATE KEY-----"})"},
      {"Lustre from nowhere",
       R"({"lustre_mounts": [{"source": "10.0.0.5@tcp:/a", "path": "/a"}]})"},
      {"Lustre without a network",
       R"({"lustre_mounts": [{"source": "mds1:/a", "path": "/a"}],
           "lustre_repository": {"uris": ["http://mirror.example"]}})"},
      {"a network of LNet without an interface",
       R"({"lustre_mounts": [{"source": "10.0.0.5@tcp:/a", "path": "/a"}], "lustre_networks": "tcp0",
           "lustre_repository": {"uris": ["http://mirror.example"]}})"},
      {"a network of LNet on an interface that the node lacks",
       R"J({"lustre_mounts": [{"source": "10.0.0.5@tcp:/a", "path": "/a"}],
            "lustre_networks": ["tcp0(eth0,eth7)"],
            "lustre_repository": {"uris": ["http://mirror.example"]}})J"},
  };
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  secrets_.secrets["beegfs_connection"] = "SECRET";  // of servers that are none of the inventory's
  const auto playbook = LoadPlaybook(site_, "playbooks/site.yaml");
  ASSERT_OK(playbook);
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    options_.extra_vars = nlohmann::ordered_json::parse(c.variables);
    std::vector<absl::Status> errors;
    for (size_t play = 0; play < PlayNames(**playbook).size(); ++play) {
      const auto nodes = SelectPlayNodes(**playbook, play, inventory_, "");
      ASSERT_OK(nodes);
      for (const NodePlan& plan :
           CompilePlay(**playbook, play, inventory_, facts_, *nodes, options_, secrets_))
        if (!plan.error.ok()) errors.push_back(plan.error);
    }
    ASSERT_FALSE(errors.empty());
    EXPECT_THAT(errors.front(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
}

}  // namespace
}  // namespace muster::controller
