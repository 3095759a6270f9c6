// Newcomers copy the examples: each must parse and describe the cluster that it claims.
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "controller/inventory/inventory.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::SizeIs;

Inventory ReadExample(const std::string& name) {
  const std::string path = absl::StrCat("inventory/examples/", name, "/cluster.yaml");
  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  absl::StatusOr<Inventory> inventory = ParseInventory({{path, text}});
  EXPECT_OK(inventory);
  return inventory.ok() ? *std::move(inventory) : Inventory();
}

struct ExampleCase {
  const char* name;
  size_t login, compute, storage, racks, partitions;
  const char* default_partition;
  size_t default_nodes;
};

TEST(Examples, HaveTheirNodes) {
  const ExampleCase cases[] = {
      {"university-2080ti", 1, 6, 0, 2, 2, "ml", 6},
      {"carme-1080ti", 1, 16, 2, 2, 2, "interactive", 16},
      {"lrz-dgx", 1, 6, 0, 2, 2, "gpu", 4},
      {"slices-testbed", 1, 10, 0, 2, 2, "train", 10},
      {"guide-cluster", 2, 8, 1, 2, 2, "gpu", 8},
  };
  for (const ExampleCase& c : cases) {
    SCOPED_TRACE(c.name);
    const Inventory inventory = ReadExample(c.name);
    ASSERT_NE(inventory.FindGroup("login"), nullptr);
    EXPECT_THAT(inventory.FindGroup("login")->nodes, SizeIs(c.login));
    EXPECT_THAT(inventory.FindGroup("compute")->nodes, SizeIs(c.compute));
    EXPECT_THAT(inventory.FindGroup("storage")->nodes, SizeIs(c.storage));
    EXPECT_THAT(inventory.racks(), SizeIs(c.racks));
    EXPECT_THAT(inventory.partitions(), SizeIs(c.partitions));
    ASSERT_NE(inventory.FindPartition(c.default_partition), nullptr);
    EXPECT_TRUE(inventory.FindPartition(c.default_partition)->is_default);
    EXPECT_THAT(inventory.FindPartition(c.default_partition)->nodes, SizeIs(c.default_nodes));
    for (const Node& node : inventory.nodes()) EXPECT_NE(node.rack, "") << node.name;
  }
}

int IntegerOf(const Inventory& inventory, const Node& node, absl::string_view name) {
  int value = -1;
  for (const Variable& variable : VariablesOf(inventory, node)) {
    if (variable.name == name) value = variable.value->get<int>();
  }
  return value;
}

TEST(Examples, TheUniversitysRacksCarryTheirNodes) {
  const Inventory inventory = ReadExample("university-2080ti");
  int all_gpus = 0;
  for (const Rack& rack : inventory.racks()) {
    EXPECT_EQ(rack.power_limit_watts, 6000);
    int watts = 0;
    int compute = 0;
    for (const std::string& name : rack.nodes) {
      const Node& node = *inventory.FindNode(name);
      if (node.role != NodeRole::kCompute) continue;
      ++compute;
      watts += IntegerOf(inventory, node, "node_power_watts");
      all_gpus += IntegerOf(inventory, node, "gpu_count");
    }
    EXPECT_EQ(compute, 3);
    EXPECT_LE(watts, rack.power_limit_watts);
  }
  EXPECT_EQ(all_gpus, 24);
}

TEST(Examples, TheTestbedsNestedGroupWins) {
  const Inventory inventory = ReadExample("slices-testbed");
  EXPECT_EQ(IntegerOf(inventory, *inventory.FindNode("c001"), "network_gbits_per_s"), 1);
  EXPECT_EQ(IntegerOf(inventory, *inventory.FindNode("c005"), "network_gbits_per_s"), 10);
}

}  // namespace
}  // namespace muster::controller
