#include "cli/render/comparison_report.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/v1/drift.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;

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

TEST(ComparisonReport, NamesInOneLineThoseThatAreUnlikeMost) {
  EXPECT_THAT(RenderDifferences(Compared()), Said());
}

TEST(ComparisonReport, NodesThatAreAlikeAreNoDifference) {
  v1::CompareNodesResponse response = Compared();
  response.mutable_classes(0)->mutable_traits()->DeleteSubrange(1, 2);
  EXPECT_FALSE(HasDifferences(response));
  EXPECT_EQ(RenderDifferences(response), "");
}

}  // namespace
}  // namespace muster::cli
