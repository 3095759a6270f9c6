#include "controller/drift/node_comparison.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/v1/drift.pb.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::drift {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::Facts MachineLike(const std::string& bios) {
  v1::Facts facts;
  facts.mutable_machine()->set_vendor("Supermicro");
  facts.mutable_machine()->set_product("SYS-821GE-TNHR");
  facts.mutable_machine()->set_bios_version(bios);
  facts.mutable_memory()->set_total_mib(1'031'000);
  for (int i = 0; i < 8; ++i) facts.add_gpus()->set_name("NVIDIA H100 80GB HBM3");
  return facts;
}

using Values = std::vector<std::pair<std::string, std::vector<std::string>>>;

// The values of a trait of the first class, with their nodes where they are not all of it; empty:
// there is no such trait.
Values ValuesOf(const v1::CompareNodesResponse& response, const std::string& name) {
  Values values;
  for (const v1::NodeTrait& trait : response.classes(0).traits()) {
    if (trait.name() != name) continue;
    for (const v1::TraitValue& value : trait.values())
      values.push_back({value.value(), {value.nodes().begin(), value.nodes().end()}});
  }
  return values;
}

TEST(NodeComparison, TheValueOfTheMostNodesIsFirst) {
  NodeComparison comparison;
  comparison.Add("c001", "compute", MachineLike("1.9"));
  comparison.Add("c002", "compute", MachineLike("2.1"));
  comparison.Add("c003", "compute", MachineLike("2.1"));
  v1::CompareNodesResponse response;
  comparison.Finish(response);
  ASSERT_EQ(response.classes_size(), 1);
  EXPECT_EQ(response.classes(0).machine(), "Supermicro SYS-821GE-TNHR");
  EXPECT_THAT(response.classes(0).nodes(), ElementsAre("c001", "c002", "c003"));
  EXPECT_EQ(ValuesOf(response, "BIOS"), (Values{{"2.1", {"c002", "c003"}}, {"1.9", {"c001"}}}));
  EXPECT_EQ(ValuesOf(response, "GPUs"), (Values{{"8 × NVIDIA H100 80GB HBM3", {}}}));
}

TEST(NodeComparison, OnlyNodesOfOneRoleAndOneMachineAreCompared) {
  v1::Facts other = MachineLike("2.1");
  other.mutable_machine()->set_product("AS-8125GS-TNHR");
  v1::Facts unnamed;
  unnamed.mutable_cpu()->set_model("a processor");
  NodeComparison comparison;
  comparison.Add("c001", "compute", MachineLike("2.1"));
  comparison.Add("c002", "compute", other);
  comparison.Add("login1", "login", MachineLike("1.9"));
  comparison.Add("login2", "login", unnamed);
  comparison.AddWithoutFacts("c009");
  v1::CompareNodesResponse response;
  comparison.Finish(response);
  ASSERT_EQ(response.classes_size(), 4);
  EXPECT_EQ(response.classes(3).machine(), "a processor");
  EXPECT_THAT(response.without_facts(), ElementsAre("c009"));
}

TEST(NodeComparison, AGpuThatIsGoneAndAProbeThatDidNotAnswerAreDifferences) {
  v1::Facts fewer = MachineLike("2.1");
  fewer.mutable_gpus()->RemoveLast();
  v1::Facts hung = MachineLike("2.1");
  hung.clear_gpus();
  hung.add_unknown()->set_probe("gpus");
  NodeComparison comparison;
  comparison.Add("c001", "compute", MachineLike("2.1"));
  comparison.Add("c002", "compute", MachineLike("2.1"));
  comparison.Add("c003", "compute", fewer);
  comparison.Add("c004", "compute", hung);
  v1::CompareNodesResponse response;
  comparison.Finish(response);
  EXPECT_EQ(ValuesOf(response, "GPUs"), (Values{{"8 × NVIDIA H100 80GB HBM3", {"c001", "c002"}},
                                                {"unknown", {"c004"}},
                                                {"7 × NVIDIA H100 80GB HBM3", {"c003"}}}));
}

TEST(NodeComparison, PartsAreCountedWhateverTheirOrder) {
  const auto with_disks = [](const std::vector<std::string>& firmware) {
    v1::Facts facts = MachineLike("2.1");
    for (const std::string& each : firmware) {
      facts.add_disks()->set_model("SSD");
      facts.mutable_disks()->rbegin()->set_firmware(each);
    }
    // Bridges have no device behind them, and come and go.
    facts.add_nics()->set_name("docker0");
    return facts;
  };
  NodeComparison comparison;
  comparison.Add("c001", "compute", with_disks({"A", "B", "A"}));
  comparison.Add("c002", "compute", with_disks({"B", "A", "A"}));
  v1::CompareNodesResponse response;
  comparison.Finish(response);
  EXPECT_EQ(ValuesOf(response, "disks"), (Values{{"2 × SSD A, 1 × SSD B", {}}}));
  EXPECT_THAT(ValuesOf(response, "network cards"), IsEmpty());
}

TEST(NodeComparison, MemoryThatTheFirmwareTakesIsNoDifference) {
  v1::Facts less = MachineLike("2.1");
  less.mutable_memory()->set_total_mib(1'030'900);
  NodeComparison comparison;
  comparison.Add("c001", "compute", MachineLike("2.1"));
  comparison.Add("c002", "compute", less);
  v1::CompareNodesResponse response;
  comparison.Finish(response);
  EXPECT_EQ(ValuesOf(response, "memory"), (Values{{"1007 GiB", {}}}));
}

TEST(NodeComparison, KernelArgumentsWithoutWhatIsANodesOwn) {
  EXPECT_EQ(ComparableKernelArguments(
                "BOOT_IMAGE=/boot/vmlinuz-6.1 root=UUID=7d1c ro  quiet iommu=pt resume=UUID=9"),
            "ro quiet iommu=pt");
  // The installer of EL names the volume group after the host.
  EXPECT_EQ(ComparableKernelArguments(
                "root=/dev/mapper/rl_andromeda-root ro resume=/dev/mapper/rl_andromeda-swap "
                "rd.lvm.lv=rl_andromeda/root rd.lvm.lv=rl_andromeda/swap"),
            "ro");
  EXPECT_EQ(ComparableKernelArguments("rd.lvm.vg=rl_c001 rd.luks.name=7d1c=luks-7d1c "
                                      "ifname=net0:52:54:00:00:00:01 systemd.hostname=c001 rhgb"),
            "rhgb");
  EXPECT_EQ(ComparableKernelArguments(""), "");
}

}  // namespace
}  // namespace muster::controller::drift
