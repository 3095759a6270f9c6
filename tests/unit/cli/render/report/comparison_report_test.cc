#include "cli/render/report/comparison_report.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/v1/drift.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

void AddTraitTo(v1::NodeClass& one, const std::string& name,
                const std::vector<std::pair<std::string, std::vector<std::string>>>& values) {
  v1::NodeTrait& trait = *one.add_traits();
  trait.set_name(name);
  for (const auto& [value, nodes] : values) {
    v1::TraitValue& each = *trait.add_values();
    each.set_value(value);
    each.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  }
}

v1::CompareNodesResponse Compared() {
  v1::CompareNodesResponse response;
  v1::NodeClass& workers = *response.add_classes();
  workers.set_role("compute");
  workers.set_machine("Supermicro SYS-821GE-TNHR");
  for (const char* node : {"c001", "c002", "c003", "c004"}) workers.add_nodes(node);
  AddTraitTo(workers, "kernel", {{"6.1.0-44-amd64", {}}});
  AddTraitTo(workers, "BIOS", {{"2.1 (10/27/2023)", {"c001", "c002", "c003"}}, {"1.9", {"c004"}}});
  AddTraitTo(workers, "packages",
             {{"1204 packages, 3f2a9c01bb4e", {"c001", "c003", "c004"}},
              {"1207 packages, \x1b[31mhostile\n", {"c002"}}});
  v1::NodeClass& login = *response.add_classes();
  login.set_role("login");
  login.set_machine("Dell Inc. PowerEdge R650");
  login.add_nodes("login1");
  AddTraitTo(login, "BIOS", {{"1.2.3", {}}});
  response.add_without_facts("c009");
  return response;
}

TEST(ComparisonReport, ShowsInWhatNodesDifferAndWho) {
  EXPECT_TRUE(HasDifferences(Compared()));
  EXPECT_THAT(RenderComparison(Compared(), /*all=*/false), Said());
}

TEST(ComparisonReport, ShowsEverythingWhenAsked) {
  EXPECT_THAT(RenderComparison(Compared(), /*all=*/true), Said());
}

TEST(ComparisonReport, NamesPackagesOrSaysWhyNot) {
  v1::CompareNodesResponse response = Compared();
  v1::NodeClass& workers = *response.mutable_classes(0);
  v1::PackageDifferences& differences = *workers.add_package_differences();
  differences.set_node("c002");
  differences.set_common_node("c001");
  const auto add = [&](const std::string& name, const std::string& own, const std::string& common) {
    v1::PackageDifference& each = *differences.add_packages();
    each.set_name(name);
    each.set_architecture("amd64");
    each.set_version(own);
    each.set_common_version(common);
  };
  add("bash", "5.2-1", "5.2-2");
  add("by-hand", "1\x1b[31m", "");
  add("curl", "", "7.88");
  differences.set_left_out(3);
  v1::PackageDifferences& silent = *workers.add_package_differences();
  silent.set_node("c003");
  silent.set_message("c003 names no packages: its agent is older");
  v1::PackageDifferences& equal = *workers.add_package_differences();
  equal.set_node("c004");
  equal.set_common_node("c001");
  EXPECT_THAT(RenderComparison(response, /*all=*/false), Said());
}

TEST(ComparisonReport, NamesInOneLineThoseThatAreUnlikeMost) {
  EXPECT_THAT(RenderDifferences(Compared()), Said());
}

TEST(ComparisonReport, NodesThatAreAlikeAreNoDifference) {
  v1::CompareNodesResponse response = Compared();
  response.mutable_classes(0)->mutable_traits()->DeleteSubrange(1, 2);
  EXPECT_FALSE(HasDifferences(response));
  EXPECT_EQ(RenderDifferences(response), "");
}

// c002 has half of the GPUs, other firmware and a slice less memory for the system; c003 is another
// model, and c004 tells nothing of its GPUs.
v1::CompareNodesResponse Machines() {
  v1::CompareNodesResponse response;
  v1::NodeClass& one = *response.add_classes();
  one.set_machine("Supermicro SYS-821GE-TNHR");
  for (const char* node : {"c001", "c002", "c004"}) one.add_nodes(node);
  AddTraitTo(one, "BIOS", {{"2.1", {"c001", "c004"}}, {"1.9", {"c002"}}});
  AddTraitTo(one, "processors", {{"2 × 56 cores", {}}});
  AddTraitTo(one, "memory", {{"2015 GiB", {"c001", "c004"}}, {"2014 GiB", {"c002"}}});
  AddTraitTo(one, "GPUs",
             {{"8 × NVIDIA H100", {"c001"}}, {"4 × NVIDIA H100", {"c002"}}, {"unknown", {"c004"}}});
  v1::NodeClass& other = *response.add_classes();
  other.set_machine("Dell Inc. PowerEdge R650");
  other.add_nodes("c003");
  AddTraitTo(other, "processors", {{"2 × 32 cores", {}}});
  AddTraitTo(other, "memory", {{"503 GiB", {}}});
  return response;
}

TEST(ComparisonReport, MachinesThatAreOthersThanTheirNeighbor) {
  EXPECT_THAT(HardwareDifferences(Machines(), "c002", "c001"),
              ElementsAre("GPUs: 4 × NVIDIA H100, not 8 × NVIDIA H100"));
  EXPECT_THAT(
      HardwareDifferences(Machines(), "c003", "c001"),
      ElementsAre("machine: Dell Inc. PowerEdge R650, not Supermicro SYS-821GE-TNHR",
                  "processors: 2 × 32 cores, not 2 × 56 cores", "memory: 503 GiB, not 2015 GiB"));
  EXPECT_THAT(HardwareDifferences(Machines(), "c004", "c001"), IsEmpty()) << "it does not tell";
  EXPECT_THAT(HardwareDifferences(Machines(), "c001", "c001"), IsEmpty());
  EXPECT_THAT(HardwareDifferences(Machines(), "c009", "c001"), IsEmpty()) << "without facts";
}

}  // namespace
}  // namespace muster::cli
