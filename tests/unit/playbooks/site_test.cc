// The shipped playbooks, compiled for the clusters that they are meant for.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/value/proto_value.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/healthy_node.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Said;
using testing::StatusIs;

// The package cache comes first: the others may have no other way to packages. Then storage
// servers: the others mount what they serve. Then GPU drivers, which slurm.conf depends on.
constexpr size_t kLoginPlay = 4;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

// The facts that an agent on one of the machines would report.
v1::Facts FactsOf(const std::string& version, const std::string& virtualization, int gpus) {
  v1::Facts facts = testing::HealthyNode(gpus, "rtx_2080_ti");
  facts.mutable_os()->set_version_id(version);
  facts.mutable_os()->set_codename(version == "13" ? "trixie" : "bookworm");
  facts.mutable_os()->set_virtualization(virtualization);
  facts.mutable_cgroup()->set_usable_by_slurm(virtualization == "none");
  for (const char* name : {"eth0", "eth1"}) facts.add_nics()->set_name(name);
  return facts;
}

class SiteTest : public ::testing::Test {
 protected:
  SiteTest() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator("playbooks"))
      if (entry.is_regular_file()) site_[entry.path().string()] = ReadFile(entry.path());
  }

  void UseCluster(const std::string& name) {
    const std::string path = absl::StrCat("inventory/examples/", name, "/cluster.yaml");
    absl::StatusOr<Inventory> inventory = ParseInventory({{path, ReadFile(path)}});
    ASSERT_OK(inventory);
    inventory_ = *std::move(inventory);
  }

  void GiveFacts(const std::string& version, const std::string& virtualization, int gpus) {
    for (const Node& node : inventory_.nodes())
      facts_[node.name] = ProtoToValue(
          FactsOf(version, virtualization, node.role == NodeRole::kCompute ? gpus : 0));
  }

  // Every plan of every play; all must compile.
  std::vector<v1::Plan> CompileAll() {
    std::vector<v1::Plan> plans;
    const auto playbook = LoadPlaybook(site_, "playbooks/site.yaml");
    EXPECT_OK(playbook);
    if (!playbook.ok()) return plans;
    for (size_t play = 0; play < PlayNames(**playbook).size(); ++play) {
      const auto nodes = SelectPlayNodes(**playbook, play, inventory_, "");
      EXPECT_OK(nodes);
      for (NodePlan& plan :
           CompilePlay(**playbook, play, inventory_, facts_, *nodes, options_, secrets_)) {
        EXPECT_OK(plan.error) << plan.node;
        if (plan.plan != nullptr) plans.push_back(*plan.plan);
      }
    }
    return plans;
  }

  // The content of such a file in the first plan that has one; "" if none has.
  static std::string Content(const std::vector<v1::Plan>& plans, const std::string& path) {
    for (const v1::Plan& plan : plans)
      for (const v1::RolePlan& role : plan.roles())
        for (const v1::Step& step : role.steps())
          if (step.has_file() && step.file().path() == path) return step.file().content();
    return "";
  }

  // The mounts of nfs_client, on whatever node.
  static std::set<std::string> Mounts(const std::vector<v1::Plan>& plans) {
    std::set<std::string> mounts;
    for (const v1::Plan& plan : plans)
      for (const v1::RolePlan& role : plan.roles())
        for (const v1::Step& step : role.steps())
          for (const v1::MountResource& mount : step.mounts().mounts())
            mounts.insert(absl::StrCat(mount.source(), " at ", mount.path(), " as ",
                                       mount.fs_type(), " with ",
                                       absl::StrJoin(mount.options(), ",")));
    return mounts;
  }

  static int CountSteps(const std::vector<v1::Plan>& plans, const std::string& role,
                        const std::string& name, bool skipped) {
    int count = 0;
    for (const v1::Plan& plan : plans)
      for (const v1::RolePlan& r : plan.roles())
        for (const v1::Step& step : r.steps())
          count +=
              r.name() == role && step.name() == name && skipped == !step.skip_reason().empty();
    return count;
  }

  FileTree site_;
  Inventory inventory_;
  FactsByNode facts_;
  CompileOptions options_;
  testing::FakeSecretSource secrets_;
};

TEST_F(SiteTest, EqualNodesAreOneLineWithTheirGpus) {
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  const auto plans = CompileAll();
  const std::string conf = Content(plans, "/etc/slurm/slurm.conf");
  // 192,000 MiB less 3 %, in steps of 256 MiB.
  EXPECT_THAT(conf, HasSubstr("\nNodeName=c[001-006] CPUs=64 Boards=1 Sockets=2 CoresPerSocket=16 "
                              "ThreadsPerCore=2 RealMemory=186112 Gres=gpu:rtx_2080_ti:4 "
                              "State=UNKNOWN\n"));
  EXPECT_THAT(conf, HasSubstr("\nPartitionName=ml Nodes=c[001-006] Default=YES "
                              "MaxTime=3-00:00:00 State=UP DefMemPerCPU=2908\n"));
  EXPECT_THAT(conf, HasSubstr("\nPartitionName=teaching Nodes=c[001-002] Default=NO "));
  EXPECT_THAT(conf, HasSubstr("\nGresTypes=gpu\n"));
  // Without slurmdbd slurmctld ends with "slurmdbd is required to run with TRES gres/gpu".
  EXPECT_THAT(conf, Not(HasSubstr("AccountingStorage")));
  EXPECT_THAT(conf, HasSubstr("\nProctrackType=proctrack/cgroup\n"));
  EXPECT_THAT(conf, HasSubstr("\nSlurmctldHost=login1\n"));
  EXPECT_THAT(Content(plans, "/etc/slurm/gres.conf"),
              HasSubstr("\nNodeName=c[001-006] Name=gpu Type=rtx_2080_ti File=/dev/nvidia3\n"));
}

// Of 4 GPUs by the inventory one fell off the bus: Slurm drains the node, whose slurmd registers 3.
TEST_F(SiteTest, ANodeWithoutOneOfItsGpusIsNotASmallerNode) {
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  facts_["c002"]["gpus"].erase(3);
  auto plans = CompileAll();
  EXPECT_THAT(Content(plans, "/etc/slurm/slurm.conf"),
              ContainsRegex("\nNodeName=c\\[001-006\\] .* Gres=gpu:rtx_2080_ti:4 State"));
  EXPECT_THAT(Content(plans, "/etc/slurm/gres.conf"),
              HasSubstr("\nNodeName=c[001,003-006] Name=gpu Type=rtx_2080_ti File=/dev/nvidia3\n"));
  // More than counted are there to be used.
  GiveFacts("12", "none", 5);
  EXPECT_THAT(Content(CompileAll(), "/etc/slurm/slurm.conf"),
              HasSubstr(" Gres=gpu:rtx_2080_ti:5 "));
}

// A job that asks for no memory would have all of the node, and the others would wait.
TEST_F(SiteTest, JobsThatAskForNoMemoryGetThatOfTheirProcessors) {
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  facts_["c002"]["memory"]["total_mib"] = 96000;
  facts_["c006"]["memory"]["total_mib"] = 64000;
  EXPECT_THAT(Content(CompileAll(), "/etc/slurm/slurm.conf"),
              AllOf(ContainsRegex("\nPartitionName=ml .* State=UP DefMemPerCPU=968\n"),
                    ContainsRegex("\nPartitionName=teaching .* State=UP DefMemPerCPU=1452\n")));
  options_.extra_vars["slurm_default_memory_per_cpu"] = 500;
  options_.extra_vars["slurm_partition_options"] = {{"ml", {{"DefMemPerNode", 1000}}}};
  EXPECT_THAT(Content(CompileAll(), "/etc/slurm/slurm.conf"),
              AllOf(ContainsRegex("\nPartitionName=ml .* State=UP DefMemPerNode=1000\n"),
                    ContainsRegex("\nPartitionName=teaching .* State=UP DefMemPerCPU=500\n")));
  options_.extra_vars["slurm_extra_config"] = "DefMemPerCPU=700";
  EXPECT_THAT(Content(CompileAll(), "/etc/slurm/slurm.conf"),
              ContainsRegex("\nPartitionName=teaching .* State=UP\n"));
  options_.extra_vars.clear();
  options_.extra_vars["slurm_default_memory_per_cpu"] = "none";
  EXPECT_THAT(Content(CompileAll(), "/etc/slurm/slurm.conf"), Not(HasSubstr("DefMem")));
}

TEST_F(SiteTest, SlurmAccountsForGpusOnlyWithSlurmdbd) {
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  options_.extra_vars["slurm_accounting_host"] = "login1";
  EXPECT_THAT(Content(CompileAll(), "/etc/slurm/slurm.conf"),
              HasSubstr("\nAccountingStorageType=accounting_storage/slurmdbd\n"
                        "AccountingStorageHost=login1\nAccountingStoragePort=6819\n"
                        "AccountingStorageTRES=gres/gpu\nPriorityType=priority/multifactor\n"));
  // Before the driver is installed, the inventory says that there are GPUs.
  GiveFacts("12", "none", 0);
  EXPECT_THAT(Content(CompileAll(), "/etc/slurm/slurm.conf"),
              HasSubstr("\nAccountingStorageTRES=gres/gpu\n"));
  UseCluster("slices-testbed");
  GiveFacts("12", "none", 0);
  EXPECT_THAT(Content(CompileAll(), "/etc/slurm/slurm.conf"),
              AllOf(HasSubstr("\nAccountingStorageHost=login1\n"), Not(HasSubstr("TRES"))));
}

TEST_F(SiteTest, TheNetworkIsATreeOfTheRacksSwitches) {
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  EXPECT_THAT(Content(CompileAll(), "/etc/slurm/slurm.conf"),
              HasSubstr("\nTopologyPlugin=topology/tree\n"));
  EXPECT_EQ(Content(CompileAll(), "/etc/slurm/topology.conf"),
            "# Written by Muster from the inventory's racks; changes made here are lost.\n"
            "SwitchName=sw1 Nodes=c[001-003]\nSwitchName=sw2 Nodes=c[004-006]\n"
            "SwitchName=muster-root Switches=sw1,sw2\n");
  options_.extra_vars["slurm_topology"] = "none";
  EXPECT_THAT(Content(CompileAll(), "/etc/slurm/slurm.conf"), Not(HasSubstr("Topology")));
}

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

TEST_F(SiteTest, ANodeThatHasNotEnrolledIsNotInSlurmYet) {
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  facts_.erase("c002");
  const auto playbook = LoadPlaybook(site_, "playbooks/site.yaml");
  ASSERT_OK(playbook);
  const auto plans =
      CompilePlay(**playbook, kLoginPlay, inventory_, facts_, {"login1"}, options_, secrets_);
  ASSERT_EQ(plans.size(), 1u);
  ASSERT_OK(plans[0].error);
  const std::string conf = Content({*plans[0].plan}, "/etc/slurm/slurm.conf");
  EXPECT_THAT(conf, HasSubstr("NodeName=c[001,003-006] "));
  EXPECT_THAT(conf, HasSubstr("PartitionName=teaching Nodes=c001 "));
}

// A probe that failed, or a node without facts: the others get their slurm.conf nevertheless.
TEST_F(SiteTest, ANodeThatDoesNotSayWhatItIsIsNotInSlurmYet) {
  UseCluster("university-2080ti");
  for (const char* unknown : {"cpu", "memory", "cgroup", "os"}) {
    GiveFacts("12", "none", 4);
    facts_["c002"][unknown] = nullptr;
    const auto playbook = LoadPlaybook(site_, "playbooks/site.yaml");
    ASSERT_OK(playbook);
    const auto plans =
        CompilePlay(**playbook, kLoginPlay, inventory_, facts_, {"login1"}, options_, secrets_);
    ASSERT_EQ(plans.size(), 1u);
    ASSERT_OK(plans[0].error) << unknown;
    const std::string conf = Content({*plans[0].plan}, "/etc/slurm/slurm.conf");
    const bool is_needed = std::string(unknown) == "cpu" || std::string(unknown) == "memory";
    EXPECT_THAT(conf, HasSubstr(is_needed ? "NodeName=c[001,003-006] " : "NodeName=c[001-006] "));
  }
}

TEST_F(SiteTest, WithoutControlGroupsSlurmTracksProcessesOtherwise) {
  UseCluster("university-2080ti");
  GiveFacts("12", "systemd-nspawn", 0);
  const auto plans = CompileAll();
  const std::string conf = Content(plans, "/etc/slurm/slurm.conf");
  EXPECT_THAT(conf, HasSubstr("\nProctrackType=proctrack/linuxproc\n"));
  EXPECT_THAT(conf, Not(HasSubstr("Gres=")));
  // Somebody who knows that all have them does not have to believe a worker that claims otherwise.
  options_.extra_vars["slurm_cgroups"] = true;
  EXPECT_THAT(Content(CompileAll(), "/etc/slurm/slurm.conf"),
              HasSubstr("\nProctrackType=proctrack/cgroup\n"));
  // A container's clock is not its own either.
  EXPECT_EQ(CountSteps(plans, "time", "chrony leaves the clock alone", /*skipped=*/false), 7);
  EXPECT_EQ(CountSteps(plans, "time", "chrony may set the clock", /*skipped=*/true), 7);
}

// Nothing would hold the jobs of the others to their processors, memory and GPUs.
TEST_F(SiteTest, OneWorkerWithoutControlGroupsDoesNotTakeThemFromTheOthers) {
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  facts_["c002"]["cgroup"]["usable_by_slurm"] = false;
  facts_["c003"]["cgroup"] = nullptr;
  const auto playbook = LoadPlaybook(site_, "playbooks/site.yaml");
  ASSERT_OK(playbook);
  const auto plans = CompilePlay(**playbook, kLoginPlay + 1, inventory_, facts_,
                                 {"c001", "c002", "c003"}, options_, secrets_);
  ASSERT_EQ(plans.size(), 3u);
  EXPECT_OK(plans[0].error);
  EXPECT_THAT(plans[1].error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_OK(plans[2].error);
  // The slurmd of such a worker refuses what it does not have.
  for (const char* all : {"auto", "true", "false"}) {
    options_.extra_vars["slurm_cgroups"] = all;
    const auto login =
        CompilePlay(**playbook, kLoginPlay, inventory_, facts_, {"login1"}, options_, secrets_);
    ASSERT_OK(login[0].error);
    EXPECT_THAT(Content({*login[0].plan}, "/etc/slurm/slurm.conf"),
                HasSubstr(std::string(all) == "false" ? "\nTaskPlugin=task/none\n"
                                                      : "/affinity,task/cgroup\n"));
  }
  EXPECT_OK(
      CompilePlay(**playbook, kLoginPlay + 1, inventory_, facts_, {"c002"}, options_, secrets_)[0]
          .error);
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

TEST_F(SiteTest, TheInstalledVersionDecidesHowNodesAreTakenIn) {
  UseCluster("university-2080ti");
  site_["playbooks/stacks/newer.yaml"] = R"(
description: Debian 12 with a Slurm of the site's own
os: [debian 12]
kernel: {from: "6.1", below: "6.2"}
slurm: {version: 24.11.5}
)";
  struct Case {
    const char *version, *stack;
    bool reconfigures;
  };
  for (const auto& [version, stack, reconfigures] :
       {Case{"12", "", false}, Case{"13", "", true}, Case{"12", "newer", true}}) {
    SCOPED_TRACE(absl::StrCat(version, " ", stack));
    GiveFacts(version, "none", 4);
    if (*stack != '\0') options_.extra_vars["stack"] = stack;
    int reconfigure = 0, restart = 0;
    for (const v1::Plan& plan : CompileAll())
      for (const v1::RolePlan& role : plan.roles())
        for (const v1::Step& handler : role.handlers()) {
          if (role.name() != "slurm_controller" || !handler.skip_reason().empty()) continue;
          reconfigure += handler.has_command();
          restart += handler.has_unit();
        }
    // A start alone would not tell the workers.
    EXPECT_EQ(reconfigure, 1) << version;
    EXPECT_EQ(restart, reconfigures ? 0 : 1) << version;
  }
}

TEST_F(SiteTest, BeegfsIsServedAndMounted) {
  UseCluster("carme-1080ti");
  GiveFacts("12", "none", 4);
  auto plans = CompileAll();
  EXPECT_EQ(CountSteps(plans, "beegfs_server", "the management runs", /*skipped=*/false), 1);
  EXPECT_EQ(CountSteps(plans, "beegfs_server", "the metadata runs", /*skipped=*/false), 2);
  EXPECT_EQ(CountSteps(plans, "beegfs_server", "the storage runs", /*skipped=*/false), 2);
  EXPECT_THAT(Content(plans, "/etc/beegfs/beegfs-storage.conf"),
              HasSubstr("\nstoreStorageDirectory = /data/target1/beegfs_storage\n"));
  EXPECT_THAT(Content(plans, "/etc/beegfs/beegfs-mgmtd.conf"),
              HasSubstr("\nquotaEnableEnforcement = true\n"));
  EXPECT_EQ(CountSteps(plans, "beegfs_client", "BeeGFS is mounted at /home", /*skipped=*/false),
            17);
  // Quota is a variable of the servers.
  EXPECT_THAT(Content(plans, "/etc/beegfs/beegfs-client.conf"),
              AllOf(HasSubstr("\nsysMgmtdHost = storage1\n"), HasSubstr("\nquotaEnabled = true\n"),
                    HasSubstr("\nconnMgmtdPortTCP = 8008\n")));
  EXPECT_EQ(CountSteps(plans, "local_scratch", "scratch disk", /*skipped=*/false), 16);

  options_.extra_vars["beegfs_version"] = "8";
  options_.extra_vars["beegfs_tls_certificate"] = "CERTIFICATE";
  options_.extra_vars["beegfs_license"] = "LICENCE";
  plans = CompileAll();
  EXPECT_THAT(Content(plans, "/etc/beegfs/beegfs-mgmtd.toml"),
              AllOf(HasSubstr("\ntls-cert-file = "), HasSubstr("\nlicense-cert-file = "),
                    HasSubstr("\nquota-enforce = true\n")));
  EXPECT_EQ(Content(plans, "/etc/beegfs/beegfs-mgmtd.conf"), "");
  EXPECT_THAT(Content(plans, "/etc/beegfs/beegfs-client.conf"),
              AllOf(HasSubstr("\nconnMgmtdPort = 8008\n"), Not(HasSubstr("Helperd"))));
  EXPECT_EQ(CountSteps(plans, "beegfs_client", "the helper runs", /*skipped=*/true), 17);
}

// Images for clouds boot kernels of a flavour of their own.
TEST_F(SiteTest, ModulesOfFileSystemsAreBuiltForTheRunningKernel) {
  UseCluster("carme-1080ti");
  GiveFacts("12", "none", 4);
  options_.extra_vars = nlohmann::ordered_json::parse(
      R"({"lustre_mounts": [{"source": "10.0.0.5@tcp:/a", "path": "/a"}], "slurm_prolog": true,
          "lustre_repository": {"uris": ["http://mirror.example"]}, "beeond_path": "/scratch"})");
  for (const Node& node : inventory_.nodes()) {
    facts_[node.name]["os"]["package_architecture"] = "amd64";
    facts_[node.name]["os"]["kernel"] = "6.1.0-44-cloud-amd64";
  }
  std::set<std::string> seen;
  for (const v1::Plan& plan : CompileAll())
    for (const v1::RolePlan& role : plan.roles())
      for (const v1::Step& step : role.steps())
        if (step.name() == "headers of the kernel")
          seen.insert(absl::StrCat(role.name(), ": ", absl::StrJoin(step.package().names(), " ")));
  constexpr char kHeaders[] = ": linux-headers-cloud-amd64 linux-headers-6.1.0-44-cloud-amd64";
  EXPECT_THAT(seen,
              ElementsAre(absl::StrCat("beegfs_client", kHeaders), absl::StrCat("beeond", kHeaders),
                          absl::StrCat("lustre_client", kHeaders)));
}

// YAML makes numbers of what has no quotes.
TEST_F(SiteTest, BeegfsIsOfASeriesHoweverItsVersionIsWritten) {
  UseCluster("carme-1080ti");
  GiveFacts("12", "none", 4);
  for (const nlohmann::ordered_json& version :
       std::initializer_list<nlohmann::ordered_json>{"7.4", 7.4, "7.4.6", "8", 8, "8.1.0"}) {
    SCOPED_TRACE(version.dump());
    options_.extra_vars["beegfs_version"] = version;
    const bool is_8 = version.dump().find('8') != std::string::npos;
    EXPECT_EQ(CountSteps(CompileAll(), "beegfs_client", "the helper runs", /*skipped=*/is_8), 17);
  }
}

TEST_F(SiteTest, FoldersAreExportedAndMounted) {
  UseCluster("slices-testbed");
  GiveFacts("12", "none", 4);
  auto plans = CompileAll();
  EXPECT_THAT(Content(plans, "/etc/exports.d/muster.exports"),
              HasSubstr("\n/srv/share 10.2.0.1(rw,no_subtree_check) 10.2.0.11(rw,"));
  EXPECT_EQ(CountSteps(plans, "nfs_server", "no exports", /*skipped=*/false), 0);
  EXPECT_THAT(Mounts(plans), ElementsAre("/srv/share at /share as none with bind",
                                         "login1:/srv/share at /share as nfs4 with hard"));
  UseCluster("lrz-dgx");
  facts_.clear();
  GiveFacts("12", "none", 8);
  plans = CompileAll();
  EXPECT_THAT(Mounts(plans), ElementsAre("nas.ai.lrz.example:/dss at /dss as nfs with hard"));
  // A list that is emptied is still a set, which unmounts; what was exported is so no more.
  options_.extra_vars["data_mounts"] = nlohmann::ordered_json::array();
  plans = CompileAll();
  EXPECT_EQ(CountSteps(plans, "nfs_client", "mounts", /*skipped=*/false), 7);
  EXPECT_EQ(CountSteps(plans, "lustre_client", "mounts", /*skipped=*/false), 7);
  EXPECT_EQ(CountSteps(plans, "nfs_server", "no exports", /*skipped=*/false), 1);
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

TEST_F(SiteTest, EveryExampleClusterCompiles) {
  for (const auto& entry : std::filesystem::directory_iterator("inventory/examples")) {
    SCOPED_TRACE(entry.path().string());
    facts_.clear();
    UseCluster(entry.path().filename().string());
    GiveFacts("12", "none", 2);
    const auto plans = CompileAll();
    EXPECT_GE(plans.size(), inventory_.FindGroup("login")->nodes.size() +
                                inventory_.FindGroup("compute")->nodes.size());
    EXPECT_THAT(Content(plans, "/etc/slurm/slurm.conf"), HasSubstr("PartitionName="));
  }
}

// A package that Debian's main archive does not carry, and the repository of the examples that
// does.
constexpr std::pair<const char*, const char*> kVendorPackages[] = {
    {"(nvidia|libnvidia-ml|libcuda)[a-z0-9-]*", "gpu-driver-distribution"},
    {"nvidia-container-toolkit(-base)?|libnvidia-container[a-z0-9-]*", "nvidia-containers"},
    {"enroot([+]caps)?|nvslurm-plugin-pyxis", "enroot"},
    {"apptainer", "apptainer"},
    {"beegfs-.*|libbeegfs-ib", "beegfs"},
};

TEST_F(SiteTest, EveryExampleSaysWhereItsPackagesComeFrom) {
  for (const auto& entry : std::filesystem::directory_iterator("inventory/examples")) {
    facts_.clear();
    UseCluster(entry.path().filename().string());
    GiveFacts("12", "none", 2);
    for (auto& [node, facts] : facts_)
      if (inventory_.FindNode(node)->role == NodeRole::kCompute)
        facts["pci_devices"] = {
            {{"vendor_id", "10de"}, {"device_id", "1b06"}, {"class_code", "030000"}}};
    std::map<std::string, std::set<std::string>> needed, repositories;  // by node
    for (const v1::Plan& plan : CompileAll())
      for (const v1::RolePlan& role : plan.roles())
        for (const v1::Step& step : role.steps()) {
          if (!step.skip_reason().empty()) continue;
          if (step.has_package_repository() &&
              step.package_repository().state() != v1::PRESENCE_ABSENT)
            repositories[plan.node_name()].insert(step.package_repository().name());
          if (!step.has_package() || step.package().state() == v1::PACKAGE_STATE_ABSENT) continue;
          for (const std::string& name : step.package().names())
            for (const auto& [pattern, repository] : kVendorPackages)
              if (RE2::FullMatch(name, pattern)) needed[plan.node_name()].insert(repository);
        }
    EXPECT_FALSE(needed.empty()) << entry.path();
    for (const auto& [node, names] : needed)
      for (const std::string& name : names)
        EXPECT_EQ(repositories[node].count(name), 1u)
            << entry.path() << ": " << node << ", " << name;
  }
}

// A word that nothing reads is a setting that an administrator believes in.
TEST_F(SiteTest, EveryVariableOfAnExampleIsRead) {
  std::string readers = ReadFile("controller/validation/verdict/hardware_class.cc");
  for (const auto& [path, text] : site_) {
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      // A comment mentions a variable, and its default defines it.
      if (!RE2::FullMatch(re2::StringPiece(line.data(), line.size()), R"(\s*#.*|[a-z_]+: *[^{]*)"))
        absl::StrAppend(&readers, line, "\n");
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator("inventory/examples")) {
    UseCluster(entry.path().filename().string());
    std::vector<Variable> variables = inventory_.vars();
    for (const Group& group : inventory_.groups())
      variables.insert(variables.end(), group.vars.begin(), group.vars.end());
    for (const Node& node : inventory_.nodes())
      variables.insert(variables.end(), node.vars.begin(), node.vars.end());
    for (const Variable& variable : variables) {
      EXPECT_TRUE(RE2::PartialMatch(readers, absl::StrCat("\\b", variable.name, "\\b")))
          << variable.place.ToString() << ": nothing reads '" << variable.name << "'";
    }
  }
}

}  // namespace
}  // namespace muster::controller
