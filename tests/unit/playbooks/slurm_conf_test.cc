// What slurm.conf and gres.conf say about a cluster.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/playbooks/site_fixture.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Said;
using testing::StatusIs;

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
  // Nor one of processors alone, where the driver shows none of them.
  facts_["c002"]["gpus"].clear();
  EXPECT_THAT(
      Content(CompileAll(), "/etc/slurm/slurm.conf"),
      AllOf(ContainsRegex("\nNodeName=c002 .* Gres=gpu:4 State"),
            ContainsRegex("\nNodeName=c\\[001,003-006\\] .* Gres=gpu:rtx_2080_ti:4 State")));
  // More than counted are there to be used.
  GiveFacts("12", "none", 5);
  EXPECT_THAT(Content(CompileAll(), "/etc/slurm/slurm.conf"),
              HasSubstr(" Gres=gpu:rtx_2080_ti:5 "));
}

// For instance those of monitors, whose driver works.
TEST_F(SiteTest, JobsGetNoCardsWhereTheInventorySaysThatNoneAreUsed) {
  const std::string path = "inventory/examples/university-2080ti/cluster.yaml";
  inventory_ =
      ParseInventory(
          {{path, absl::StrReplaceAll(ReadFile(path), {{"gpu_count: 4", "gpu_count: 0"}})}})
          .value();
  GiveFacts("12", "none", 1);
  const auto plans = CompileAll();
  EXPECT_THAT(Content(plans, "/etc/slurm/slurm.conf"),
              AllOf(HasSubstr("\nNodeName=c[001-006] CPUs=64 "), Not(HasSubstr("Gres"))));
  EXPECT_THAT(Content(plans, "/etc/slurm/gres.conf"), Not(HasSubstr("NodeName")));
  EXPECT_THAT(Content(plans, "/etc/systemd/system/slurmd.service.d/muster.conf"),
              AllOf(HasSubstr("/wait-for-gpus"), Not(HasSubstr("/dev/nvidia"))));
}

// Slurm uses IPv4 alone, and never reached such a node.
TEST_F(SiteTest, SlurmUsesIpv6AsSoonAsANodeHasSuchAnAddress) {
  UseCluster("university-2080ti");
  GiveFacts("13", "none", 4);
  options_.extra_vars["slurm_accounting_host"] = "login1";
  const auto parameters = [&](const std::string& path) {
    const std::string text = Content(CompileAll(), path);
    EXPECT_THAT(text, HasSubstr("\nSlurmUser=slurm\n"));
    const size_t at = text.find("\nCommunicationParameters=");
    return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  };
  constexpr const char* kSlurm = "/etc/slurm/slurm.conf";
  constexpr const char* kSlurmdbd = "/etc/slurm/slurmdbd.conf";
  for (const char* path : {kSlurm, kSlurmdbd, "/etc/slurm/accounting.conf"})
    EXPECT_EQ(parameters(path), "") << path;
  const auto restarts = [&] {
    return CountSteps(CompileAll(), "slurm_controller", "slurmctld listens to IPv6", false) +
           CountSteps(CompileAll(), "slurm_worker", "slurmd listens to IPv6", false);
  };
  EXPECT_EQ(restarts(), 0);

  absl::StatusOr<Inventory> inventory =
      ParseInventory({{"c.yaml",
                       "cluster: x\nnodes: {login1: {role: login, address: 10.0.0.1}, c001: {role: "
                       "compute, address: \"2001:db8::11\"}}\n"}});
  ASSERT_OK(inventory);
  inventory_ = *std::move(inventory);
  GiveFacts("13", "none", 4);
  for (const char* path : {kSlurm, kSlurmdbd, "/etc/slurm/accounting.conf"})
    EXPECT_EQ(parameters(path), "CommunicationParameters=EnableIPv6") << path;
  // Their ports are opened at a start alone.
  EXPECT_EQ(restarts(), 2);
  options_.extra_vars["slurm_extra_config"] = "CommunicationParameters=EnableIPv6,DisableIPv4";
  options_.extra_vars["slurmdbd_extra_config"] = "communicationparameters = EnableIPv6";
  EXPECT_EQ(parameters(kSlurm), "CommunicationParameters=EnableIPv6,DisableIPv4");
  EXPECT_EQ(parameters("/etc/slurm/accounting.conf"),
            "CommunicationParameters=EnableIPv6,DisableIPv4");
  EXPECT_EQ(parameters(kSlurmdbd), "");
  // They would never listen to IPv6, and be restarted by every run.
  options_.extra_vars["slurm_extra_config"] = "CommunicationParameters=NoAddrCache";
  EXPECT_EQ(restarts(), 0);
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

// The partition was left out, and slurmctld ended the jobs that waited in it.
TEST_F(SiteTest, APartitionStaysWhileNoneOfItsNodesIsKnown) {
  UseCluster("university-2080ti");
  GiveFacts("12", "none", 4);
  facts_.erase("c001");
  facts_.erase("c002");
  const auto playbook = LoadPlaybook(site_, "playbooks/site.yaml");
  ASSERT_OK(playbook);
  const auto plans =
      CompilePlay(**playbook, kLoginPlay, inventory_, facts_, {"login1"}, options_, secrets_);
  ASSERT_EQ(plans.size(), 1u);
  ASSERT_OK(plans[0].error);
  EXPECT_THAT(Content({*plans[0].plan}, "/etc/slurm/slurm.conf"),
              AllOf(ContainsRegex("\nPartitionName=ml Nodes=c\\[003-006\\] .* DefMemPerCPU=2908\n"),
                    ContainsRegex("\nPartitionName=teaching Nodes=\"\" Default=NO .* State=UP\n")));
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
  EXPECT_THAT(conf, HasSubstr("\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"));
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
                HasSubstr(std::string(all) == "false" ? "\nTaskPlugin=task/affinity\n"
                                                      : "/affinity,task/cgroup\n"));
  }
  EXPECT_OK(
      CompilePlay(**playbook, kLoginPlay + 1, inventory_, facts_, {"c002"}, options_, secrets_)[0]
          .error);
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

}  // namespace
}  // namespace muster::controller
