#include "agent/slurm/node_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The output of Slurm 22.05.
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
    "NodeName=c005 State=DOWN Partitions=batch Reason=Not responding [slurm@Unknown]\n"
    "NodeName=c006 State=DOWN Partitions=batch Reason=fan [alice@2026-11-21T08:00:00]\n";

TEST(SlurmNodes, AreReadFromWhatScontrolPrints) {
  const std::vector<v1::SlurmNode> nodes = ParseSlurmNodes(kListing);
  ASSERT_THAT(nodes, SizeIs(6));
  EXPECT_EQ(nodes[0].name(), "c001");
  EXPECT_EQ(nodes[0].state(), "IDLE");
  EXPECT_TRUE(nodes[0].takes_jobs());
  EXPECT_THAT(nodes[0].reason(), IsEmpty());
  EXPECT_TRUE(nodes[1].is_drained());
  EXPECT_FALSE(nodes[1].takes_jobs());
  EXPECT_EQ(nodes[1].reason(), "muster:v-7k3m9q2x failed gpu-gemm");
  EXPECT_EQ(nodes[1].reason_user(), "slurm");
  // An administrator's reason is text, whatever it looks like.
  EXPECT_EQ(nodes[2].name(), "c003");
  EXPECT_TRUE(nodes[2].is_drained());
  EXPECT_EQ(nodes[2].reason(), "bad disk, see [ticket 12] State=IDLE NodeName=c001");
  EXPECT_EQ(nodes[2].reason_user(), "root");
  EXPECT_TRUE(nodes[3].takes_jobs());
  EXPECT_FALSE(nodes[4].takes_jobs());
  EXPECT_FALSE(nodes[4].is_drained());
}

TEST(SlurmNodes, NonsenseIsPassedOver) {
  EXPECT_THAT(ParseSlurmNodes(""), IsEmpty());
  EXPECT_THAT(ParseSlurmNodes("slurm_load_node error: Unable to contact slurm controller\n"),
              IsEmpty());
  EXPECT_THAT(
      ParseSlurmNodes("NodeName= State=IDLE\nNodeName=c001\nReason=NodeName=c001 State=IDLE"),
      IsEmpty());
}

TEST(SlurmNodes, TellWhatIsNotMustersToUndo) {
  const std::vector<v1::SlurmNode> nodes = ParseSlurmNodes(kListing);
  EXPECT_EQ(HeldBecause(nodes[0]), "");
  EXPECT_EQ(HeldBecause(nodes[2]),
            "drained by root: bad disk, see [ticket 12] State=IDLE NodeName=c001");
  EXPECT_EQ(HeldBecause(nodes[4]), "") << "Slurm itself says that it does not answer";
  EXPECT_EQ(HeldBecause(nodes[5]), "taken down by alice: fan");
}

// A reason with something behind it would be nobody's, and Muster would never remove its own drain.
TEST(SlurmNodes, WhatFollowsAReasonIsNoPartOfIt) {
  const std::vector<v1::SlurmNode> nodes = ParseSlurmNodes(
      "NodeName=c001 State=IDLE+DRAIN Reason=muster:u-1 being updated [root@2026-11-21T08:00:00] "
      "Comment=moved to [rack 7] in May Extra=asset [ann@2021-01-01] 4711\n"
      "NodeName=c002 State=DOWN Reason=Not responding [slurm@Unknown]  Extra={\"a\": [1]}\n"
      "NodeName=c003 State=IDLE+DRAIN Reason=ask [bob@site] first Extra=x [y@z]\n");
  ASSERT_THAT(nodes, SizeIs(3));
  EXPECT_EQ(nodes[0].reason(), "muster:u-1 being updated");
  EXPECT_EQ(nodes[0].reason_user(), "root");
  EXPECT_EQ(nodes[1].reason(), "Not responding");
  EXPECT_EQ(nodes[1].reason_user(), "slurm");
  EXPECT_EQ(nodes[2].reason(), "ask [bob@site] first Extra=x [y@z]") << "without a time";
  EXPECT_EQ(nodes[2].reason_user(), "");
}

TEST(SlurmNodes, OneThatRegisteredWithOtherHardwareTakesNoJobs) {
  const std::vector<v1::SlurmNode> nodes =
      ParseSlurmNodes("NodeName=c001 State=IDLE+INVALID_REG Partitions=batch\n");
  ASSERT_THAT(nodes, SizeIs(1));
  EXPECT_FALSE(nodes[0].takes_jobs());
  EXPECT_FALSE(nodes[0].is_drained());
  EXPECT_EQ(HeldBecause(nodes[0]), "");
}

TEST(SlurmNodes, ComeInPartsThatFitIntoAMessage) {
  std::vector<v1::SlurmNode> nodes;
  for (int i = 12'000; i > 0; --i) {
    v1::SlurmNode& node = nodes.emplace_back();
    node.set_name(absl::StrCat("n", 100'000 + i));
    node.set_state("IDLE+DRAIN");
    node.set_reason(std::string(2000, 'x'));
  }
  nodes[0].set_reason("gr\xfcn");  // not UTF-8, as protobuf strings must be
  std::string after;
  size_t seen = 0;
  for (int part = 0; part < 100; ++part) {
    const v1::SlurmNodes some = SlurmNodesAfter(nodes, after);
    ASSERT_GT(some.nodes_size(), 0);
    EXPECT_LT(some.ByteSizeLong(), size_t{3} << 19);
    v1::SlurmNodes copy;
    EXPECT_TRUE(copy.ParseFromString(some.SerializeAsString()));
    seen += some.nodes_size();
    after = some.nodes().rbegin()->name();
    if (!some.has_more()) break;
  }
  EXPECT_EQ(seen, nodes.size());
  EXPECT_EQ(after, "n112000");
}

}  // namespace
}  // namespace muster::agent
