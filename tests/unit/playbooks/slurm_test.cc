// Slurm's roles beyond a plain cluster: private folders of jobs, tokens, slurmrestd, reservations.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/value/folded_value.h"
#include "common/value/proto_value.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/gpu_node_facts.h"
#include "tests/fixtures/healthy_node.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/playbooks/stand_in_node.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;
using testing::Said;
using testing::StatusIs;

constexpr char kTwoLoginNodes[] = R"(
cluster: x
nodes:
  login1: {role: login, address: 10.0.0.1}
  login2: {role: login, address: 10.0.0.2}
  "c[001-002]": {role: compute, address: "10.0.0.[11-12]"}
)";

// The site for two login nodes, of which the first runs slurmctld, and two workers.
class SlurmRolesTest : public ::testing::Test {
 protected:
  SlurmRolesTest() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator("playbooks")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      site_[entry.path().string()] =
          std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    }
    UseInventory(kTwoLoginNodes);
    UseDebian("12");
  }

  void UseInventory(const std::string& text) {
    absl::StatusOr<Inventory> inventory = ParseInventory({{"c.yaml", text}});
    EXPECT_OK(inventory);
    if (inventory.ok()) inventory_ = *std::move(inventory);
  }

  // Containers, whose control groups Slurm cannot use.
  void UseDebian(const std::string& version) {
    for (const Node& node : inventory_.nodes()) {
      v1::Facts facts =
          testing::HealthyNode(node.role == NodeRole::kCompute ? 2 : 0, "rtx_2080_ti");
      facts.mutable_os()->set_version_id(version);
      facts.mutable_os()->set_virtualization("systemd-nspawn");
      facts.mutable_cgroup()->set_usable_by_slurm(false);
      facts_[node.name] = ProtoToValue(facts);
    }
  }

  // Debian, or Ubuntu where the version has a month.
  void UseSystem(const std::string& node, const std::string& version) {
    facts_[node]["os"]["id"] = absl::StrContains(version, '.') ? "ubuntu" : "debian";
    facts_[node]["os"]["version_id"] = version;
  }

  // The plans of the whole site, or the first error.
  std::vector<v1::Plan> Compile(absl::Status* error, const std::string& limit = "") {
    std::vector<v1::Plan> plans;
    const auto playbook = LoadPlaybook(site_, "playbooks/site.yaml");
    EXPECT_OK(playbook);
    if (!playbook.ok()) return plans;
    for (size_t play = 0; play < PlayNames(**playbook).size(); ++play) {
      const auto nodes = SelectPlayNodes(**playbook, play, inventory_, limit);
      EXPECT_OK(nodes);
      for (NodePlan& plan :
           CompilePlay(**playbook, play, inventory_, facts_, *nodes, options_, secrets_)) {
        if (!plan.error.ok() && error->ok()) *error = plan.error;
        if (plan.plan != nullptr) plans.push_back(*plan.plan);
      }
    }
    return plans;
  }

  // The steps of a role that are done, by node and name.
  std::map<std::string, std::map<std::string, v1::Step>> Steps(const std::string& role) {
    absl::Status error;
    std::map<std::string, std::map<std::string, v1::Step>> steps;
    for (const v1::Plan& plan : Compile(&error))
      for (const v1::RolePlan& r : plan.roles())
        for (const v1::Step& step : r.steps())
          if (r.name() == role && step.skip_reason().empty())
            steps[plan.node_name()][step.name()] = step;
    EXPECT_OK(error);
    return steps;
  }

  FileTree site_;
  Inventory inventory_;
  FactsByNode facts_;
  CompileOptions options_;
  testing::FakeSecretSource secrets_;
};

TEST_F(SlurmRolesTest, JobsShareTheNodesTmpUnlessAsked) {
  auto steps = Steps("slurm_controller")["login1"];
  EXPECT_THAT(steps["slurm.conf"].file().content(),
              AllOf(HasSubstr("\nPrologFlags=Alloc\n"), Not(HasSubstr("JobContainer")),
                    Not(HasSubstr("AuthAlt"))));
  EXPECT_EQ(steps["no job_container.conf"].file().state(), v1::PRESENCE_ABSENT);
  EXPECT_EQ(steps["no key of tokens"].file().state(), v1::PRESENCE_ABSENT);
  auto worker = Steps("slurm_worker")["c001"];
  EXPECT_THAT(worker["where slurmd gets its configuration"].file().content(),
              AllOf(Not(HasSubstr("Private")), Not(HasSubstr("MIG"))));
  EXPECT_THAT(worker["slurmd's unit settings"].file().content(), Not(HasSubstr("RequiresMounts")));
}

// Limits of login sessions do not count for a daemon, whose processes jobs are.
TEST_F(SlurmRolesTest, SlurmdHasTheLimitsOfJobsAndWaitsForTheFabric) {
  options_.extra_vars["base_nofile"] = 500000;
  EXPECT_THAT(Steps("slurm_worker")["c001"]["slurmd's unit settings"].file().content(),
              AllOf(HasSubstr("\nAfter=nvidia-fabricmanager.service nvidia-imex.service\n"),
                    HasSubstr("\nLimitNOFILE=500000\nLimitMEMLOCK=infinity\n")));
}

TEST_F(SlurmRolesTest, JobsHaveATmpOfTheirOwn) {
  options_.extra_vars["slurm_private_tmp"] = "/scratch/private";
  UseDebian("13");
  auto steps = Steps("slurm_controller")["login1"];
  EXPECT_THAT(steps["slurm.conf"].file().content(),
              HasSubstr("\nPrologFlags=Alloc,Contain\nJobContainerType=job_container/tmpfs\n"));
  EXPECT_EQ(steps["job_container.conf"].file().content(),
            "# Written by Muster; changes made here are lost.\nAutoBasePath=true\n"
            "BasePath=/scratch/private\nDirs=/tmp,/dev/shm\n");
  // slurmd reads it at its start: a changed file leads to one.
  auto worker = Steps("slurm_worker")["c001"];
  EXPECT_THAT(worker["where slurmd gets its configuration"].file().content(),
              HasSubstr("\n# Private folders of jobs: /tmp,/dev/shm in /scratch/private\n"));
  EXPECT_THAT(worker["slurmd's unit settings"].file().content(),
              HasSubstr("\nRequiresMountsFor=/scratch/private\n[Service]\n"));
  const v1::DirectoryResource folder = worker["folder of the jobs' private folders"].directory();
  EXPECT_EQ(folder.path(), "/scratch/private");
  EXPECT_EQ(folder.owner(), "root");
  EXPECT_EQ(folder.mode(), 0755u);
  options_.extra_vars["slurm_private_tmp_folders"] = {"/tmp", "/var/tmp", "/dev/shm"};
  EXPECT_THAT(Steps("slurm_controller")["login1"]["job_container.conf"].file().content(),
              HasSubstr("\nDirs=/tmp,/var/tmp,/dev/shm\n"));
}

// EPEL's packages bring a slurm.conf, which commands prefer to what slurmd fetches, and which is
// not that of this cluster.
TEST_F(SlurmRolesTest, ASampleOfSlurmConfIsNone) {
  EXPECT_EQ(Steps("slurm_worker")["c001"].count("commands read what slurmd fetches"), 0u);
  for (auto& [name, facts] : facts_) {
    facts["os"]["id"] = "rocky";
    facts["os"]["version_id"] = "9.4";
  }
  const v1::SymlinkResource link =
      Steps("slurm_worker")["c001"]["commands read what slurmd fetches"].symlink();
  EXPECT_EQ(link.path(), "/etc/slurm/slurm.conf");
  EXPECT_EQ(link.target(), "/run/slurm/conf/slurm.conf");

  options_.extra_vars = {{"slurm_version", "23.11"}, {"slurm_private_tmp", "/scratch/private"}};
  const v1::CommandResource command =
      Steps("slurm_controller")["login1"]["no job runs while private folders change"].command();
  StandInNode node("sample-slurm-conf", {"/etc/"});
  node.Program("squeue", "echo 7");
  EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
  node.Write("/etc/slurm/slurm.conf", "# slurm.conf file generated by configurator.html.\n");
  EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
  node.Write("/etc/slurm/slurm.conf", "# Written by Muster from the inventory\nClusterName=x\n");
  EXPECT_EQ(node.Run(command.argv()), 1);
}

constexpr char kGpus[] = "/etc/slurm/gres.conf";

TEST_F(SlurmRolesTest, SlurmdAsksTheDriverForGpusWhereItCan) {
  const auto gres = [&] { return Steps("slurm_controller")["login1"]["gres.conf"].file(); };
  EXPECT_EQ(gres().path(), kGpus);
  EXPECT_THAT(gres().content(),
              HasSubstr("\nNodeName=c[001-002] Name=gpu Type=rtx_2080_ti File=/dev/nvidia1\n"));
  facts_["c002"]["slurm"]["gpu_autodetect"] = "nvml";
  facts_["c001"]["gpus"][0]["local_cores"] = {{{"first", 0}, {"last", 7}}};
  facts_["c001"]["gpus"][1]["local_cores"] = {{{"first", 8}, {"last", 8}},
                                              {{"first", 10}, {"last", 15}}};
  EXPECT_THAT(
      gres().content(),
      AllOf(HasSubstr("\nNodeName=c001 Name=gpu Type=rtx_2080_ti File=/dev/nvidia0 Cores=0-7\n"),
            HasSubstr(" File=/dev/nvidia1 Cores=8,10-15\n"),
            HasSubstr("\nNodeName=c002 AutoDetect=nvml\n")));
  // slurm.conf counts them either way.
  EXPECT_THAT(Steps("slurm_controller")["login1"]["slurm.conf"].file().content(),
              ContainsRegex("\nNodeName=c\\[001-002\\] [^\n]* Gres=gpu:rtx_2080_ti:2 State="));
  options_.extra_vars["slurm_gres_autodetect"] = "none";
  EXPECT_THAT(gres().content(), Not(HasSubstr("AutoDetect")));
}

TEST_F(SlurmRolesTest, InstancesOfMigAreGpusOfTheirOwn) {
  UseInventory(absl::StrCat(kTwoLoginNodes, R"(groups:
  some:
    nodes: c002
    vars:
      gpu_settings:
        models: {rtx_2080_ti: {mig: {"1g.10gb": 2, "1g.10gb+me": 1, "2g.20gb": 2}}}
        gpus: {"1": {mig: false}}
)"));
  facts_["c002"]["gpus"][1]["index"] = 1;
  const auto conf = [&](const char* step) {
    return Steps("slurm_controller")["login1"][step].file().content();
  };
  EXPECT_THAT(conf("slurm.conf"),
              ContainsRegex("\nNodeName=c002 [^\n]* "
                            "Gres=gpu:1g.10gb:3,gpu:2g.20gb:2,gpu:rtx_2080_ti:1 State="));
  EXPECT_THAT(conf("gres.conf"),
              AllOf(HasSubstr("\nNodeName=c002 AutoDetect=nvml\n"),
                    HasSubstr("\nNodeName=c001 Name=gpu Type=rtx_2080_ti File=/dev/nvidia0\n")));
  // A slurmd that cannot ask would have none of them.
  absl::Status error;
  facts_["c002"]["slurm"]["slurmd_c"] = "NodeName=c002 CPUs=2";
  Compile(&error);
  EXPECT_THAT(error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  facts_["c002"]["slurm"]["gpu_autodetect"] = "nvml";
  error = absl::OkStatus();
  Compile(&error);
  EXPECT_OK(error);
  // slurmd asks at its start: other instances in this file lead to one.
  auto workers = Steps("slurm_worker");
  const v1::Step options = workers["c002"]["where slurmd gets its configuration"];
  EXPECT_THAT(options.file().content(),
              HasSubstr("\n# MIG: rtx_2080_ti={\"1g.10gb\": 2, \"1g.10gb+me\": 1, \"2g.20gb\": 2} "
                        "1=false\n"));
  EXPECT_THAT(options.notify(), ElementsAre(HasSubstr("restart slurmd")));
  EXPECT_THAT(workers["c001"]["where slurmd gets its configuration"].file().content(),
              Not(HasSubstr("MIG")));
}

// 21.08 mounts the first version's hierarchies; 23.11 no longer knows the word for it.
TEST_F(SlurmRolesTest, ControlGroupsAreConfiguredForSlurmsVersion) {
  const auto conf = [&] {
    return Steps("slurm_controller")["login1"]["cgroup.conf"].file().content();
  };
  EXPECT_THAT(conf(), AllOf(HasSubstr("\nCgroupPlugin=autodetect\nConstrainCores=yes\n"),
                            Not(HasSubstr("Automount"))));
  options_.extra_vars["slurm_version"] = "21.08";
  EXPECT_THAT(conf(), AllOf(HasSubstr("\nCgroupAutomount=yes\nConstrainCores=yes\n"),
                            Not(HasSubstr("CgroupPlugin"))));
}

TEST_F(SlurmRolesTest, AWorkerHasASlurmThatSlurmctldKnows) {
  const struct {
    const char *login, *worker;
    bool fits;
  } kCases[] = {
      {"12", "12", true},  {"12", "22.04", true},  {"12", "24.04", false},
      {"12", "13", false}, {"22.04", "12", false}, {"13", "24.04", true},
      {"13", "12", false}, {"24.04", "12", true},  {"24.04", "22.04", false},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(absl::StrCat(each.worker, " under ", each.login));
    UseSystem("login1", each.login);
    UseSystem("c002", each.worker);
    absl::Status error;
    Compile(&error, "c002");
    EXPECT_EQ(error.ok(), each.fits) << error;
    if (!each.fits) {
      EXPECT_THAT(error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
    }
  }
  // Packages of the site's own, on both.
  UseSystem("login1", "13");
  UseSystem("c002", "12");
  options_.extra_vars["slurm_version"] = "24.11";
  absl::Status error;
  Compile(&error, "c002");
  EXPECT_OK(error);
  // Nothing is known of a node that has not joined.
  options_.extra_vars.clear();
  facts_.erase("login1");
  Compile(&error, "c002");
  EXPECT_OK(error);
}

// Its slurmd would not start, which slurm.conf tells to use them.
TEST_F(SlurmRolesTest, AWorkerWhoseSlurmDoesNotKnowItsControlGroupsIsRefused) {
  for (auto& [name, facts] : facts_) {
    facts["cgroup"]["version"] = 2;
    facts["cgroup"]["usable_by_slurm"] = true;
  }
  const auto plan_of = [&](const char* node) {
    absl::Status error;
    Compile(&error, node);
    return error;
  };
  UseSystem("c002", "22.04");
  EXPECT_OK(plan_of("c001"));
  EXPECT_THAT(plan_of("c002"), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  options_.extra_vars["slurm_cgroups"] = false;
  EXPECT_OK(plan_of("c002"));
  options_.extra_vars.clear();
  facts_["c002"]["cgroup"]["version"] = 1;
  EXPECT_OK(plan_of("c002"));
  // All of one system have a slurm.conf without them.
  facts_["c002"]["cgroup"]["version"] = 2;
  for (const char* node : {"login1", "login2", "c001"}) UseSystem(node, "22.04");
  EXPECT_OK(plan_of("c002"));
}

// Limits on the work of templates grow with the cluster, and its plan holds a line for equal
// workers.
TEST_F(SlurmRolesTest, TenThousandWorkersAreConfigured) {
  UseInventory(
      "cluster: x\nnodes: {login1: {role: login, address: 10.0.0.1}, \"c[00001-10000]\": {role: "
      "compute}}\npartitions: {gpu: {nodes: compute, default: true}}\n");
  const auto folded = [](const v1::Facts& facts) {
    return FoldMessage(facts, facts.SerializeAsString()).value();
  };
  const Value worker = folded(testing::FactsOfAGpuNode());
  for (const Node& node : inventory_.nodes()) facts_[node.name] = worker;
  facts_["login1"] = folded(testing::HealthyNode(0));
  absl::Status error;
  std::map<std::string, std::string> files;
  for (const v1::Plan& plan : Compile(&error, "login1"))
    for (const v1::RolePlan& role : plan.roles())
      for (const v1::Step& step : role.steps())
        if (step.has_file()) files[step.file().path()] = step.file().content();
  ASSERT_OK(error);
  EXPECT_THAT(
      files["/etc/slurm/slurm.conf"],
      AllOf(HasSubstr("\nNodeName=c[00001-10000] CPUs=224 "), HasSubstr(" Gres=gpu:h100:8 "),
            HasSubstr("\nPartitionName=gpu Nodes=c[00001-10000] "),
            HasSubstr("\nTaskPlugin=task/affinity,task/cgroup\n")));
  EXPECT_THAT(files["/etc/slurm/gres.conf"],
              HasSubstr("NodeName=c[00001-10000] Name=gpu Type=h100 File=/dev/nvidia7\n"));
}

// Slurm went on to ask for the node by its old address.
TEST_F(SlurmRolesTest, AnotherAddressIsAChangeOfSlurmsFiles) {
  const auto files = [&] {
    return std::make_pair(
        Steps("slurm_controller")["login1"]["slurm.conf"].file().content(),
        Steps("slurm_worker")["c001"]["where slurmd gets its configuration"].file().content());
  };
  const auto before = files();
  std::string inventory = kTwoLoginNodes;
  UseInventory(absl::StrReplaceAll(inventory, {{"10.0.0.2}", "10.0.0.3}"}}));
  EXPECT_EQ(files(), before) << "login2 runs no daemon of Slurm";
  for (const auto& [address, other] : {std::make_pair("10.0.0.1}", "10.0.0.9}"),
                                       std::make_pair("10.0.0.[11-12]", "10.0.0.[11,13]")}) {
    SCOPED_TRACE(address);
    UseInventory(absl::StrReplaceAll(inventory, {{address, other}}));
    EXPECT_NE(files().first, before.first);
    EXPECT_NE(files().second, before.second);
  }
  UseInventory(inventory);
  UseDebian("13");
  EXPECT_THAT(files().second, Not(HasSubstr("Addresses")))
      << "this version takes them in when it is told to read its files again";
}

TEST_F(SlurmRolesTest, PyxisLeavesTheLineThatItHasWritten) {
  options_.extra_vars["slurm_plugins"] = {"pyxis"};
  auto on = Steps("pyxis");
  EXPECT_EQ(on["login1"]["record of the line"].file().path(), "/etc/muster-node/pyxis");
  EXPECT_EQ(on["login1"].count("no pyxis in plugstack.conf"), 0u);
  EXPECT_EQ(on["c001"].count("record of the line"), 0u) << "workers get the file from slurmctld";
  options_.extra_vars.clear();
  auto off = Steps("pyxis");
  EXPECT_EQ(off["login1"].size(), 1u);
  EXPECT_THAT(off["login1"]["no pyxis in plugstack.conf"].command().unless(),
              ElementsAre("test", "!", "-e", "/etc/muster-node/pyxis"));
  EXPECT_EQ(off.count("c001"), 0u);
}

// slurmctld takes in a new plugstack.conf, and hung when slurmdbd got accounts in that moment.
TEST_F(SlurmRolesTest, PyxisIsNotAnnouncedWhileAccountsChange) {
  options_.extra_vars["slurm_accounting_host"] = "login1";
  options_.extra_vars["slurm_plugins"] = {"pyxis"};
  absl::Status error;
  std::set<std::string> needs;
  for (const v1::Plan& plan : Compile(&error, "login1"))
    for (const v1::RolePlan& role : plan.roles())
      if (role.name() == "pyxis") needs.insert(role.needs().begin(), role.needs().end());
  EXPECT_OK(error);
  EXPECT_THAT(needs, IsSupersetOf({"slurm_controller", "slurm_accounts", "slurm_reservations"}));
}

TEST_F(SlurmRolesTest, ABackupOfSlurmctldIsSetUpAsThePrimaryIs) {
  options_.extra_vars = nlohmann::ordered_json::parse(R"({
      "slurm_backup_controllers": "login2", "slurm_state_directory": "/state/slurmctld",
      "slurm_takeover_seconds": 30, "slurm_jwt": true,
      "data_mounts": [{"source": "nas:/state", "path": "/state"}]})");
  auto steps = Steps("slurm_controller");
  EXPECT_EQ(steps.size(), 2u);
  for (const char* node : {"login1", "login2"}) {
    SCOPED_TRACE(node);
    EXPECT_THAT(steps[node]["slurm.conf"].file().content(),
                AllOf(HasSubstr("\nSlurmctldHost=login1\nSlurmctldHost=login2\n"),
                      HasSubstr("\nStateSaveLocation=/state/slurmctld\n"),
                      HasSubstr("\nSlurmctldTimeout=30\n")));
    EXPECT_EQ(steps[node]["state folder"].directory().path(), "/state/slurmctld");
    EXPECT_THAT(steps[node]["slurmctld waits for its state"].file().content(),
                HasSubstr("\nExecStartPre=+/usr/local/lib/muster/wait-for-mounts "
                          "/state/slurmctld\nTimeoutStartSec=infinity\n"));
    EXPECT_TRUE(steps[node]["slurmctld runs"].unit().enabled());
  }
  EXPECT_TRUE(Steps("slurm_login").empty());
  EXPECT_EQ(Steps("slurm_jwt").size(), 2u);
  EXPECT_THAT(Steps("slurm_worker")["c001"]["where slurmd gets its configuration"].file().content(),
              HasSubstr("--conf-server login1:6817,login2:6817\""));
}

// The standby of a Slurm that takes nodes in by itself has to be told of them, too.
TEST_F(SlurmRolesTest, OnlyABackupOfSlurmctldIsRestartedAtEveryChange) {
  UseDebian("13");
  options_.extra_vars = nlohmann::ordered_json::parse(R"({
      "slurm_backup_controllers": ["login2"], "slurm_state_directory": "/state/slurmctld",
      "slurm_shared_folders": ["/state"]})");
  std::map<std::string, bool> restarted;
  absl::Status error;
  for (const v1::Plan& plan : Compile(&error))
    for (const v1::RolePlan& role : plan.roles())
      for (const v1::Step& handler : role.handlers())
        if (role.name() == "slurm_controller" && handler.name() == "restart slurmctld")
          restarted[plan.node_name()] = handler.skip_reason().empty();
  EXPECT_OK(error);
  EXPECT_THAT(restarted, ElementsAre(Pair("login1", false), Pair("login2", true)));
}

TEST_F(SlurmRolesTest, BeeondIsForWorkersWithAPathAndForJobsThatAsk) {
  for (const auto& [node, of_node] : Steps("beeond"))
    EXPECT_EQ(of_node.size(), 2u) << node << ": what an earlier one has left";
  EXPECT_THAT(Steps("slurm_controller")["login1"]["slurm.conf"].file().content(),
              Not(HasSubstr("Feature=")));
  UseInventory(absl::StrCat(kTwoLoginNodes,
                            "groups: {some: {nodes: c002, vars: {beeond_path: /scratch}}}\n"
                            "vars: {slurm_prolog: true}\n"));
  auto steps = Steps("beeond");
  EXPECT_EQ(steps["c001"].count("no BeeOND"), 1u);
  EXPECT_EQ(steps["c002"].count("no BeeOND"), 0u);
  EXPECT_THAT(Steps("slurm_controller")["login1"]["slurm.conf"].file().content(),
              ContainsRegex("\nNodeName=c001 [^\n]* Gres=gpu:rtx_2080_ti:2 State=UNKNOWN\n"
                            "NodeName=c002 [^\n]* Gres=gpu:rtx_2080_ti:2 Feature=beeond State="));
  EXPECT_EQ(steps["c002"].count("root's key"), 0u) << "the site's own ssh";
  // The cluster has no BeeGFS of its own, and keeps none of its daemons.
  EXPECT_EQ(Steps("beegfs").size(), 1u);
  EXPECT_FALSE(steps["c002"]["beegfs-helperd has nothing to mount"].unit().enabled());
  EXPECT_THAT(steps["c002"]["packages of BeeOND"].package().names(),
              IsSupersetOf({"beeond", "beegfs-mgmtd", "beegfs-client-dkms", "beegfs-helperd"}));
  EXPECT_THAT(steps["c002"]["configuration of the job's mgmtd"].file().content(),
              HasSubstr("\nconnAuthFile = /etc/beegfs/beeond/conn.auth\n"));
  options_.extra_vars["beegfs_version"] = "8";
  steps = Steps("beeond");
  EXPECT_EQ(steps["c002"].count("configuration of the job's mgmtd"), 0u) << "BeeOND 8 has options";
  EXPECT_THAT(steps["c002"]["a job that asks for it gets a file system"].file().content(),
              HasSubstr(" -f /etc/beegfs/beeond -C \\\n"));
  EXPECT_THAT(steps["c002"]["packages of BeeOND"].package().names(),
              AllOf(Contains("beegfs-tools"), Not(Contains("beegfs-helperd"))));
}

TEST_F(SlurmRolesTest, RootOfAWorkerEntersTheOthersForBeeondAlone) {
  options_.extra_vars = {{"slurm_prolog", true},
                         {"beeond_path", "/scratch"},
                         {"beeond_ssh_public_key", "ssh-ed25519 AAAA somebody@desk"}};
  secrets_.secrets["beeond_ssh_key"] = "PRIVATE\n\n";
  auto steps = Steps("beeond")["c001"];
  EXPECT_EQ(steps["root's key"].file().content(), "PRIVATE\n");
  EXPECT_EQ(steps["root's key"].file().mode(), 0400u);
  EXPECT_EQ(steps["root of the workers may enter"].line().line(),
            "from=\"10.0.0.11,10.0.0.12\",restrict ssh-ed25519 AAAA muster-beeond");
}

TEST_F(SlurmRolesTest, OnlyTheDaemonsHaveTheKeyOfTokens) {
  options_.extra_vars["slurm_jwt"] = true;
  options_.extra_vars["slurm_accounting_host"] = "login2";
  auto keys = Steps("slurm_jwt");
  EXPECT_EQ(keys.size(), 2u);
  for (const char* node : {"login1", "login2"}) {
    const v1::FileResource key = keys[node]["key of tokens"].file();
    EXPECT_EQ(key.path(), "/etc/slurm/jwt_hs256.key") << node;
    EXPECT_EQ(key.content(), std::string(32, 'x'));
    EXPECT_EQ(key.owner(), "slurm");
    EXPECT_EQ(key.mode(), 0400u);
  }
  std::set<std::string> readers;
  for (size_t i = 0; i < secrets_.asked.size(); ++i)
    if (secrets_.asked[i] == "slurm_jwt_key") readers.insert(secrets_.readers[i]);
  EXPECT_THAT(readers, ElementsAre("slurm_jwt"));
  EXPECT_THAT(Steps("slurm_accounting")["login2"]["slurmdbd.conf"].file().content(),
              HasSubstr("\nAuthAltTypes=auth/jwt\n"
                        "AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key\n"));
  const std::string with_key =
      "\nAuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key";
  EXPECT_THAT(Steps("slurm_controller")["login1"]["slurm.conf"].file().content(),
              HasSubstr(with_key + ",max_token_lifespan=86400\n"));
  // The oldest Slurm has no limit, and would not say so.
  options_.extra_vars["slurm_version"] = "21.08";
  EXPECT_THAT(Steps("slurm_controller")["login1"]["slurm.conf"].file().content(),
              HasSubstr(with_key + "\n"));
}

TEST_F(SlurmRolesTest, SlurmrestdIsOnOneLoginNode) {
  EXPECT_TRUE(Steps("slurm_rest").empty());
  options_.extra_vars = {{"slurm_jwt", true}, {"slurm_rest_host", "login2"}};
  auto steps = Steps("slurm_rest");
  EXPECT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps["login1"]["no slurmrestd"].package().state(), v1::PACKAGE_STATE_ABSENT);
  EXPECT_THAT(steps["login2"]["slurmrestd"].package().names(), Contains("slurmrestd"));
  const std::string unit = steps["login2"]["slurmrestd's unit settings"].file().content();
  EXPECT_THAT(unit, HasSubstr("\nUser=slurmrestd\nGroup=slurmrestd\n"));
  EXPECT_THAT(unit, HasSubstr("\nExecStart=\nExecStart=/usr/sbin/slurmrestd -a rest_auth/jwt -s "
                              "openapi/v0.0.38 unix:/run/slurmrestd/slurmrestd.socket\n"));
  EXPECT_THAT(unit, AllOf(HasSubstr("\nRuntimeDirectoryMode=0755\n"), Not(HasSubstr("chgrp"))));

  options_.extra_vars["slurm_version"] = "23.02";
  EXPECT_THAT(Steps("slurm_rest")["login2"]["slurmrestd's unit settings"].file().content(),
              HasSubstr(" -s openapi/v0.0.39 unix:"));
  options_.extra_vars.erase("slurm_version");

  UseDebian("13");
  options_.extra_vars["slurm_accounting_host"] = "login1";
  options_.extra_vars["slurm_rest_listen"] = "[::1]:6820";
  options_.extra_vars["slurm_rest_group"] = "portal";
  EXPECT_THAT(Steps("slurm_rest")["login2"]["slurmrestd's unit settings"].file().content(),
              AllOf(HasSubstr(" -s openapi/slurmctld,openapi/slurmdbd "
                              "unix:/run/slurmrestd/slurmrestd.socket [::1]:6820\n"),
                    HasSubstr("\nRuntimeDirectoryMode=0750\n"
                              "ExecStartPre=+/usr/bin/chgrp portal /run/slurmrestd\n")));
}

TEST_F(SlurmRolesTest, ReservationsAreAList) {
  options_.extra_vars["slurm_reservations"] = nlohmann::ordered_json::parse(R"([
      {"name": "firmware", "start": "2027-03-01T08:00", "duration": "4:00:00", "users": "root",
       "nodes": ["c001", "c002"], "flags": ["MAINT", "IGNORE_JOBS"]},
      {"name": "course", "start": "2027-03-02T08:00:00", "duration": 90, "nodes": "ALL",
       "accounts": ["physics", "optics"]}])");
  auto steps = Steps("slurm_reservations");
  EXPECT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps["login1"]["list of reservations"].file().content(),
            "# Written by Muster; changes made here are lost. Name, start, duration, nodes, users, "
            "accounts, flags.\n"
            "firmware 2027-03-01T08:00 4:00:00 c001,c002 root - MAINT,IGNORE_JOBS\n"
            "course 2027-03-02T08:00:00 90 ALL - physics,optics -\n");
  EXPECT_THAT(steps["login1"]["reservations"].command().argv(), Contains("apply"));
  // Those of an earlier list end with it.
  options_.extra_vars.clear();
  EXPECT_THAT(Steps("slurm_reservations")["login1"]["no reservations"].command().argv(),
              Contains("apply"));
}

// Its nodes were compared with those of the partitions, and it was changed at every apply.
TEST_F(SlurmRolesTest, AReservationOfAllNodesIsOfThoseWithoutAPartitionToo) {
  options_.extra_vars["slurm_reservations"] = nlohmann::ordered_json::parse(R"([
      {"name": "firmware", "start": "2098-03-01T08:00", "duration": 60, "nodes": "ALL",
       "users": "root"}])");
  auto steps = Steps("slurm_reservations")["login1"];
  StandInNode node("reservations", {"/etc/", "/var/lib/muster-node", "/usr/local/lib/muster"});
  node.Write("/etc/slurm/muster-reservations", steps["list of reservations"].file().content());
  node.Install("/usr/local/lib/muster/slurm-reservations",
               site_["playbooks/roles/slurm_reservations/files/slurm-reservations"]);
  node.Program("sinfo", "echo c001");
  node.Program("scontrol", R"(case $* in
  *'show nodes') printf 'NodeName=%s Arch=x86_64 State=IDLE\n' c001 c002 ;;
  *'show reservation') echo "ReservationName=firmware StartTime=2098-03-01T08:00:00 \
EndTime=2098-03-01T09:00:00 Nodes=$(<"${0%/bin/scontrol}/nodes") Users=root Accounts=(null) Flags=SPEC_NODES " ;;
  'show hostnames '*) tr , '\n' <<<"$3" ;;
esac)");
  node.Write("/nodes", "c001,c002");
  EXPECT_EQ(node.Run(steps["reservations"].command().unless()), 0) << node.output();
  node.Write("/nodes", "c001");
  EXPECT_EQ(node.Run(steps["reservations"].command().unless()), 1);
}

TEST_F(SlurmRolesTest, RefusesContradictionsWithTheirRemedy) {
  const struct {
    const char *what, *variables;
  } kCases[] = {
      {"private folders in what is private", R"({"slurm_private_tmp": "/tmp/private"})"},
      {"private folders in a path of blanks", R"({"slurm_private_tmp": "/a b"})"},
      {"private folders of a version that fails jobs by them",
       R"({"slurm_private_tmp": "/scratch/p"})"},
      {"a backup of slurmctld without a shared state",
       R"({"slurm_backup_controllers": ["login2"]})"},
      {"a backup of slurmctld whose state the primary serves",
       R"({"slurm_backup_controllers": ["login2"], "slurm_state_directory": "/share/slurmctld",
           "share": {"server": "login1", "export": "/srv/share", "mount": "/share"}})"},
      {"a backup of slurmctld on a worker",
       R"({"slurm_backup_controllers": ["c001"], "slurm_state_directory": "/state/slurmctld",
           "slurm_shared_folders": ["/state"]})"},
      {"a backup of slurmctld on the primary's node",
       R"({"slurm_backup_controllers": ["login1"], "slurm_state_directory": "/state/slurmctld",
           "slurm_shared_folders": ["/state"]})"},
      {"memory with a unit", R"({"slurm_default_memory_per_cpu": "4G"})"},
      {"REST without tokens", R"({"slurm_rest_host": "login1"})"},
      {"REST on a worker", R"({"slurm_jwt": true, "slurm_rest_host": "c001"})"},
      {"REST on every interface, unsaid",
       R"({"slurm_jwt": true, "slurm_rest_host": "login1", "slurm_rest_listen": ":6820"})"},
      {"a reservation from now on",
       R"({"slurm_reservations": [{"name": "a", "start": "now", "duration": 60, "nodes": "ALL",
           "users": "root"}]})"},
      {"a reservation of nobody",
       R"({"slurm_reservations": [{"name": "a", "start": "2027-03-01T08:00", "duration": 60,
           "nodes": "ALL"}]})"},
      {"two of a name",
       R"({"slurm_reservations": [
           {"name": "a", "start": "2027-03-01T08:00", "duration": 60, "nodes": "c001",
            "users": "root"},
           {"name": "a", "start": "2027-03-02T08:00", "duration": 60, "nodes": "c001",
            "users": "root"}]})"},
      {"an unknown key",
       R"({"slurm_reservations": [{"name": "a", "start": "2027-03-01T08:00", "duration": 60,
           "node": "c001", "users": "root"}]})"},
      {"a flag that repeats",
       R"({"slurm_reservations": [{"name": "a", "start": "2027-03-01T08:00", "duration": 60,
           "nodes": "c001", "users": "root", "flags": "DAILY"}]})"},
      {"nodes that are an option",
       R"({"slurm_reservations": [{"name": "a", "start": "2027-03-01T08:00", "duration": 60,
           "nodes": "c001 Flags=MAINT", "users": "root"}]})"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    options_.extra_vars = nlohmann::ordered_json::parse(c.variables);
    absl::Status error;
    Compile(&error);
    EXPECT_THAT(error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
}

// Each of them would lead by itself.
TEST_F(SlurmRolesTest, NodesAgreeOnTheBackupsOfSlurmctld) {
  UseInventory(absl::StrCat(kTwoLoginNodes,
                            "groups: {login: {vars: {slurm_backup_controllers: [login2], "
                            "slurm_state_directory: /state/a, slurm_shared_folders: [/state]}}, "
                            "compute: {vars: {slurm_backup_controllers: []}}}\n"));
  absl::Status error;
  Compile(&error);
  EXPECT_THAT(error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

// One job_container.conf tells all of them.
TEST_F(SlurmRolesTest, WorkersHaveTheirPrivateFoldersInOnePlace) {
  UseInventory(absl::StrCat(
      kTwoLoginNodes, "groups: {some: {nodes: c002, vars: {slurm_private_tmp: /data/private}}}\n"));
  absl::Status error;
  Compile(&error);
  EXPECT_THAT(error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller
