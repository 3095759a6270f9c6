#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "controller/inventory/inventory.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "name=value level owner" of each variable.
std::vector<std::string> Describe(const std::vector<Variable>& variables) {
  std::vector<std::string> lines;
  for (const Variable& variable : variables) {
    lines.push_back(absl::StrCat(variable.name, "=", variable.value->dump(), " ",
                                 VariableLevelName(variable.level), " ", variable.owner));
  }
  return lines;
}

constexpr char kSmall[] = R"(
cluster: hpc1
domain: hpc1.example
racks:
  r1: {power_limit_watts: 6000, switch: sw1, uplink_gbits_per_s: 2.5, nodes: "c[001-002]"}
groups:
  gpu: {nodes: "c[001-003]", groups: [big], vars: {driver: "535", gpus: 4}}
  big: {nodes: c003, vars: {gpus: 8}}
  compute: {vars: {driver: none}}
nodes:
  login1: {role: login}
  "c[001-003]": {role: compute, address: "10.0.0.[11-13]", groups: [extra]}
  s1: {role: storage, address: "fe80::1", mac: "0C:42:A1:00:12:3f", rack: r1}
partitions:
  gpu: {nodes: gpu, default: true, max_time: 7-00:00:00}
vars: {proxy: "http://x"}
)";

absl::StatusOr<Inventory> ParseSmall(std::map<std::string, std::string> more = {}) {
  more["cluster.yaml"] = std::string(kSmall);
  more["groups.yaml"] = "groups:\n  extra: {}\n";
  return ParseInventory(more);
}

TEST(ParseInventory, ReadsNodes) {
  const auto inventory = ParseSmall();
  ASSERT_OK(inventory);
  EXPECT_EQ(inventory->cluster(), "hpc1");
  EXPECT_EQ(inventory->domain(), "hpc1.example");
  ASSERT_EQ(inventory->nodes().size(), 5u);
  const Node& c2 = *inventory->FindNode("c002");
  EXPECT_EQ(c2.role, NodeRole::kCompute);
  EXPECT_EQ(c2.address, "10.0.0.12");
  EXPECT_EQ(c2.rack, "r1");
  EXPECT_EQ(c2.place.ToString(), "cluster.yaml:12");
  EXPECT_EQ(inventory->FindNode("login1")->address, "login1");
  EXPECT_EQ(inventory->FindNode("s1")->address, "fe80::1");
  EXPECT_EQ(inventory->FindNode("s1")->macs.front(), "0c:42:a1:00:12:3f");
  EXPECT_EQ(inventory->FindNode("c004"), nullptr);
}

TEST(ParseInventory, ResolvesGroupsFromGeneralToSpecial) {
  const auto inventory = ParseSmall();
  ASSERT_OK(inventory);
  EXPECT_THAT(inventory->FindNode("c003")->groups,
              ElementsAre("all", "compute", "gpu", "big", "extra"));
  EXPECT_THAT(inventory->FindNode("c001")->groups, ElementsAre("all", "compute", "gpu", "extra"));
  EXPECT_THAT(inventory->FindNode("login1")->groups, ElementsAre("all", "login"));
  EXPECT_THAT(inventory->FindGroup("extra")->nodes, ElementsAre("c001", "c002", "c003"));
  EXPECT_THAT(inventory->FindGroup("storage")->nodes, ElementsAre("s1"));
}

TEST(ParseInventory, NestedGroupsBringTheirNodes) {
  const auto inventory = ParseInventory(
      {{"f",
        "cluster: x\ngroups:\n  inner: {nodes: c2}\n  outer: {nodes: c1, groups: inner}\n"
        "nodes: {\"c[1-3]\": {role: compute}}\n"}});
  ASSERT_OK(inventory);
  EXPECT_THAT(inventory->FindGroup("outer")->nodes, ElementsAre("c1", "c2"));
  EXPECT_THAT(inventory->FindNode("c2")->groups, ElementsAre("all", "compute", "outer", "inner"));
}

TEST(ParseInventory, RacksAndPartitions) {
  const auto inventory = ParseSmall();
  ASSERT_OK(inventory);
  const Rack& rack = *inventory->FindRack("r1");
  EXPECT_EQ(rack.power_limit_watts, 6000);
  EXPECT_EQ(rack.switch_name, "sw1");
  EXPECT_EQ(rack.uplink_gbits_per_s, 2.5);
  EXPECT_THAT(rack.nodes, ElementsAre("c001", "c002", "s1"));
  const Partition& partition = *inventory->FindPartition("gpu");
  EXPECT_THAT(partition.nodes, ElementsAre("c001", "c002", "c003"));
  EXPECT_TRUE(partition.is_default);
  EXPECT_EQ(partition.max_time, "7-00:00:00");
  EXPECT_EQ(partition.state, PartitionState::kUp);
}

TEST(VariablesOf, TheStrongestComesLast) {
  const auto inventory = ParseSmall({{"group_vars/all.yaml", "zone: a\n"},
                                     {"group_vars/big.yaml", "fan: {rpm: 9000}\n"},
                                     {"node_vars/c003.yml", "gpus: 7\nmode: 0400\n"}});
  ASSERT_OK(inventory);
  EXPECT_THAT(Describe(VariablesOf(*inventory, *inventory->FindNode("c003"))),
              ElementsAre("proxy=\"http://x\" inventory vars ", "zone=\"a\" group vars all",
                          "driver=\"none\" group vars compute", "driver=\"535\" group vars gpu",
                          "gpus=4 group vars gpu", "gpus=8 group vars big",
                          "fan={\"rpm\":9000} group vars big", "gpus=7 node vars c003",
                          "mode=\"0400\" node vars c003"));
  const Variable last = VariablesOf(*inventory, *inventory->FindNode("c003")).back();
  EXPECT_EQ(last.place.ToString(), "node_vars/c003.yml:2");
}

TEST(VariablesOf, EqualValuesOfUnrelatedGroupsAreNoConflict) {
  EXPECT_OK(ParseInventory({{"f",
                             "cluster: x\ngroups:\n  a: {nodes: c1, vars: {v: 1}}\n"
                             "  b: {nodes: c1, vars: {v: 1}}\n"
                             "nodes: {c1: {role: compute}}\n"}}));
}

TEST(VariablesOf, ANodesOwnValueEndsAConflictOfGroups) {
  EXPECT_OK(ParseInventory({{"f",
                             "cluster: x\ngroups:\n  a: {nodes: c1, vars: {v: 1}}\n"
                             "  b: {nodes: c1, vars: {v: 2}}\n"
                             "nodes: {c1: {role: compute, vars: {v: 3}}}\n"}}));
}

TEST(ParseInventory, AnInventoryMayHaveNoNodesYet) {
  const auto inventory = ParseInventory({{"cluster.yaml", "cluster: hpc1\nnodes:\n"}});
  ASSERT_OK(inventory);
  EXPECT_THAT(inventory->nodes(), IsEmpty());
  EXPECT_EQ(inventory->groups().size(), 4u);
}

TEST(ParseInventory, NamesThatAreTakenAreErrorsWhereTheyAreChecked) {
  const std::map<std::string, std::string> files = {
      {"cluster.yaml",
       "cluster: hpc1\nnodes: {c1: {role: compute, vars: {node: x}}}\n"
       "groups: {g: {vars: {facts: 1}}}\nvars: {domain: x, other: 1}\n"},
      {"group_vars/g.yaml", "other: 2\n\ngroups: []\n"}};
  const auto is_taken = [](absl::string_view name) {
    return std::string(name == "other" ? "" : "taken");
  };
  const std::string errors(ParseInventory(files, is_taken).status().message());
  for (const char* place : {"cluster.yaml:2:36: ", "cluster.yaml:3:21: ", "cluster.yaml:4:8: ",
                            "group_vars/g.yaml:3:1: "}) {
    EXPECT_THAT(errors, ::testing::HasSubstr(absl::StrCat(place, "taken")));
  }
  EXPECT_OK(ParseInventory(files)) << "what is stored stays readable";
}

TEST(ParseInventory, OnlyVariablesWithTemplatesKeepTheirText) {
  const auto inventory = ParseInventory(
      {{"f", "cluster: x\nvars:\n  plain: [1, {a: b}]\n  template: {a: [\"{{ cluster }}\"]}\n"}});
  ASSERT_OK(inventory);
  EXPECT_FALSE(inventory->vars()[0].written.has_value());
  ASSERT_TRUE(inventory->vars()[1].written.has_value());
  EXPECT_EQ(inventory->vars()[1].written->root().mark().line, 4);
}

}  // namespace
}  // namespace muster::controller
