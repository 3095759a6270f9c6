#include "controller/slurm/command_slurm_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/slurm/node_listing.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fakes/status_matchers.h"

namespace muster::controller::slurm {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// As Slurm 22.05 prints them.
constexpr char kListing[] =
    "NodeName=c001 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=0.37 "
    "AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:rtx:4 NodeAddr=c001 NodeHostName=c001 "
    "Version=22.05.8 OS=Linux 6.1.0-28-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1  "
    "RealMemory=1792 AllocMem=0 FreeMem=210 Sockets=2 Boards=1 State=IDLE ThreadsPerCore=1 "
    "TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=batch  BootTime=2026-11-21T07:00:00\n"
    "NodeName=c002 Arch=x86_64 CoresPerSocket=1  State=MIXED+DRAIN ThreadsPerCore=1 TmpDisk=0 "
    "Partitions=batch  Reason=muster:v-7k3m9q2x failed gpu-gemm [slurm@2026-11-21T08:00:00]\n"
    "NodeName=c003 CoresPerSocket=1  State=DOWN*+DRAIN ThreadsPerCore=1 "
    "Reason=bad disk, see [ticket 12] State=IDLE NodeName=c001 [root@2026-11-21T08:00:00]\n"
    "NodeName=c004 State=IDLE* Partitions=batch\n"
    "NodeName=c005 State=DOWN Partitions=batch Reason=Not responding [slurm@Unknown]\n";

TEST(SlurmNodes, AreReadFromWhatScontrolPrints) {
  const std::vector<SlurmNode> nodes = ParseNodes(kListing);
  ASSERT_THAT(nodes, SizeIs(5));
  EXPECT_EQ(nodes[0].name, "c001");
  EXPECT_EQ(nodes[0].state, "IDLE");
  EXPECT_TRUE(nodes[0].takes_jobs);
  EXPECT_THAT(nodes[0].reason, IsEmpty());
  EXPECT_TRUE(nodes[1].is_drained);
  EXPECT_FALSE(nodes[1].takes_jobs);
  EXPECT_EQ(nodes[1].reason, "muster:v-7k3m9q2x failed gpu-gemm");
  EXPECT_EQ(nodes[1].reason_user, "slurm");
  // What an administrator writes is text, whatever it looks like.
  EXPECT_EQ(nodes[2].name, "c003");
  EXPECT_TRUE(nodes[2].is_drained);
  EXPECT_EQ(nodes[2].reason, "bad disk, see [ticket 12] State=IDLE NodeName=c001");
  EXPECT_EQ(nodes[2].reason_user, "root");
  EXPECT_TRUE(nodes[3].takes_jobs);
  EXPECT_FALSE(nodes[4].takes_jobs);
  EXPECT_FALSE(nodes[4].is_drained);
}

TEST(SlurmNodes, NonsenseIsPassedOver) {
  EXPECT_THAT(ParseNodes(""), IsEmpty());
  EXPECT_THAT(ParseNodes("slurm_load_node error: Unable to contact slurm controller\n"), IsEmpty());
  EXPECT_THAT(ParseNodes("NodeName= State=IDLE\nNodeName=c001\nReason=NodeName=c001 State=IDLE"),
              IsEmpty());
}

TEST(SlurmReasons, TellWhoseADrainIs) {
  EXPECT_EQ(OwnReason("v-1", "failed"), "muster:v-1 failed");
  EXPECT_EQ(OwnReason("v-1", "a\nb"), "muster:v-1 a b");
  EXPECT_LE(OwnReason("v-1", std::string(5000, 'x')).size(), 200u);
  EXPECT_EQ(OwnerOf("muster:v-1 failed"), "v-1");
  EXPECT_EQ(OwnerOf("muster: failed"), std::nullopt);
  EXPECT_EQ(OwnerOf("bad disk muster:v-1"), std::nullopt);
  EXPECT_EQ(OwnerOf(""), std::nullopt);
}

TEST(CommandSlurmControl, SpellsSlurmsWords) {
  FakeProcessRunner processes;
  processes.On("scontrol --oneliner show node", FakeProcessRunner::Prints(kListing));
  processes.On("scontrol update", FakeProcessRunner::Prints(""));
  processes.On("squeue", FakeProcessRunner::Prints("12\n13_4\n"));
  CommandSlurmControl slurm({}, processes);
  EXPECT_THAT(slurm.Nodes().value(), SizeIs(5));
  EXPECT_OK(slurm.Drain("c001", "muster:v-1 failed gpu-gemm"));
  EXPECT_OK(slurm.Resume("c001"));
  EXPECT_THAT(slurm.JobsOn("c001").value(), ElementsAre("12", "13_4"));
  EXPECT_THAT(processes.specs()[1].argv,
              ElementsAre("scontrol", "update", "NodeName=c001", "State=DRAIN",
                          "Reason=muster:v-1 failed gpu-gemm"));
  EXPECT_THAT(processes.commands()[2], HasSubstr("NodeName=c001 State=RESUME"));
}

TEST(CommandSlurmControl, ReachesASlurmElsewhereAndSaysWhenItDoesNot) {
  FakeProcessRunner processes;
  processes.On("ssh login1 scontrol",
               FakeProcessRunner::Prints("Unable to contact slurm controller", 1));
  CommandSlurmControl slurm({"ssh", "login1"}, processes);
  EXPECT_THAT(slurm.Nodes(), StatusIs(absl::StatusCode::kUnavailable,
                                      HasSubstr("Unable to contact slurm controller")));
  EXPECT_THAT(slurm.Drain("c001 State=RESUME", "x"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no name of a node")));
}

}  // namespace
}  // namespace muster::controller::slurm
