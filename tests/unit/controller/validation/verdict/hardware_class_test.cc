#include "controller/validation/verdict/hardware_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/validation/test_catalog.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kInventory[] =
    "cluster: x\n"
    "racks: {r1: {power_limit_watts: 6000}, r2: {}}\n"
    "nodes:\n"
    "  login1: {role: login, rack: r1}\n"
    "  \"c[1-3]\": {role: compute, rack: r1, groups: [gpu]}\n"
    "  bad: {role: compute, rack: r2, vars: {gpu_count: four, node_power_watts: -1}}\n"
    "groups:\n"
    "  gpu:\n"
    "    vars:\n"
    "      gpu_model: NVIDIA GeForce RTX 2080 Ti\n"
    "      gpu_count: 4\n"
    "      node_power_watts: 1600\n"
    "      gpu_temperature_limit_celsius: 85\n"
    "vars: {network_gbits_per_s: 10}\n";

Inventory ReadFixture() { return ParseInventory({{"cluster.yaml", kInventory}}).value(); }

HardwareLibrary Library(const std::string& model) {
  return ParseHardware({{"a.yaml", absl::StrCat("kind: gpu\nmatch: [", model,
                                                "]\npower_watts: {value: 250, source: s}\n")}},
                       kTestCatalog)
      .value();
}

TEST(HardwareClass, IsWhatTheVariablesSay) {
  const Inventory inventory = ReadFixture();
  const HardwareClass read = ReadHardwareClass(inventory, *inventory.FindNode("c2")).value();
  EXPECT_EQ(read.gpu_model, "NVIDIA GeForce RTX 2080 Ti");
  EXPECT_EQ(read.gpu_count, 4);
  EXPECT_EQ(read.node_power_watts, 1600);
  EXPECT_FALSE(read.node_idle_watts.has_value());
  EXPECT_EQ(read.gpu_temperature_source, "cluster.yaml:13, gpu_temperature_limit_celsius");
  EXPECT_EQ(read.Name(), "4 × NVIDIA GeForce RTX 2080 Ti, ethernet 10 Gbit/s");
  EXPECT_EQ(TraitsOf(read, {}).gpus, 4);
  EXPECT_TRUE(TraitsOf(read, {}).nics);
  EXPECT_FALSE(TraitsOf(read, {}).rdma);
  const HardwareClass login = ReadHardwareClass(inventory, *inventory.FindNode("login1")).value();
  EXPECT_EQ(TraitsOf(login, {}).gpus, 0);
  EXPECT_EQ(TraitsOf(login, {2, {}, false, true}).gpus, 2);
  EXPECT_TRUE(TraitsOf(login, {2, {}, false, true}).rdma);
  EXPECT_TRUE(TraitsOf(login, {}).Has(Condition::kMachine));
  FoundHardware container;
  container.container = true;
  EXPECT_FALSE(TraitsOf(login, container).Has(Condition::kMachine));
  EXPECT_FALSE(TraitsOf(login, {}).Has(Condition::kMounts));
  HardwareClass mounts = login;
  mounts.required_mounts = {"/beegfs"};
  EXPECT_TRUE(TraitsOf(mounts, {}).Has(Condition::kMounts));
  EXPECT_FALSE(TraitsOf(mounts, {}).Has(Condition::kDisks));
  HardwareClass disks = login;
  disks.disk_paths = {"/scratch"};
  EXPECT_TRUE(TraitsOf(disks, {}).Has(Condition::kDisks));
  EXPECT_EQ(HardwareClass().Name(), "unknown");
}

// A GPU server whose driver is missing is not a CPU node.
TEST(HardwareClass, CardsWithoutADriverAreGpusUnlessTheInventorySaysHowMany) {
  FoundHardware found;
  found.gpu_cards = 2;
  HardwareClass expected;
  EXPECT_TRUE(TraitsOf(expected, found).Has(Condition::kGpus));
  EXPECT_TRUE(TraitsOf(expected, found).Has(Condition::kSeveralGpus));
  expected.gpu_model = "NVIDIA H200";
  EXPECT_EQ(TraitsOf(expected, found).gpus, 2);
  expected.gpu_count = 1;
  EXPECT_EQ(TraitsOf(expected, found).gpus, 1);
  expected = {};
  expected.gpu_count = 0;
  EXPECT_FALSE(TraitsOf(expected, found).Has(Condition::kGpus));
  // Nor are they used where a driver works, for instance that of a monitor.
  found.gpus = 1;
  EXPECT_FALSE(TraitsOf(expected, found).Has(Condition::kGpus));
  // More than the inventory has are tested, and fail.
  expected.gpu_count = 1;
  found.gpus = 2;
  EXPECT_EQ(TraitsOf(expected, found).gpus, 2);
}

TEST(HardwareClass, ErrorsNameTheVariable) {
  const Inventory inventory = ReadFixture();
  EXPECT_THAT(ReadHardwareClass(inventory, *inventory.FindNode("bad")),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(HardwareClass, PowerOfNodesAndRacks) {
  const Inventory inventory = ReadFixture();
  const HardwareLibrary library = Library("NVIDIA GeForce RTX 2080 Ti");
  const HardwareClass read = ReadHardwareClass(inventory, *inventory.FindNode("c2")).value();
  EXPECT_DOUBLE_EQ(PowerOf(read, {}, library).full, 1600);
  EXPECT_DOUBLE_EQ(PowerOf(read, {}, library).cpu, 600);
  EXPECT_DOUBLE_EQ(PowerOf(read, {4, {200, 200, 200, 200}, false, false}, library).cpu, 800);
  EXPECT_DOUBLE_EQ(PowerOf(read, {}, HardwareLibrary()).cpu, 1600);
  const std::vector<RackPower> racks = RackPowers(inventory, {"c1", "c2"}, library, {}).value();
  ASSERT_EQ(racks.size(), 1u);
  EXPECT_EQ(racks[0].name, "r1");
  EXPECT_DOUBLE_EQ(racks[0].limit_watts, 6000);
  EXPECT_DOUBLE_EQ(racks[0].others_watts, 1600 + kDefaultCpuWatts);
  // A node that is not tested may still run its GPUs at full power.
  FoundHardware of_login;
  of_login.gpus = 1;
  of_login.gpu_power_limits = {300};
  EXPECT_DOUBLE_EQ(
      RackPowers(inventory, {"c1", "c2"}, library, {{"login1", of_login}}).value()[0].others_watts,
      1600 + kDefaultCpuWatts + 300);
}

TEST(HardwareClass, LimitInForceThenThatOfTheInventoryThenThatOfTheModel) {
  HardwareClass expected;
  expected.gpu_model = "NVIDIA GeForce RTX 2080 Ti";
  expected.gpu_count = 2;
  const HardwareLibrary library = Library(*expected.gpu_model);
  EXPECT_DOUBLE_EQ(PowerOf(expected, {}, library).full, kDefaultCpuWatts + 2 * 250);
  expected.gpu_power_limit_watts = 220;
  EXPECT_DOUBLE_EQ(PowerOf(expected, {}, library).full, kDefaultCpuWatts + 2 * 220);
  FoundHardware found;
  found.gpus = 2;
  found.gpu_power_limits = {180, 200};
  EXPECT_DOUBLE_EQ(PowerOf(expected, found, library).full, kDefaultCpuWatts + 380);
}

// Eight of them draw little more than half of what the whole machine does.
TEST(HardwareClass, TheModelsFileSaysWhatANodeDrawsBesideTheGpus) {
  constexpr char kModel[] = "NVIDIA H100 80GB HBM3";
  const HardwareLibrary library =
      ParseHardware({{"h100.yaml", absl::StrCat("kind: gpu\nmatch: [", kModel,
                                                "]\npower_watts: {value: 700, source: s}\n"
                                                "node_watts_per_gpu: {value: 1275, source: s}\n")}},
                    kTestCatalog)
          .value();
  HardwareClass expected;
  expected.gpu_model = kModel;
  expected.gpu_count = 8;
  EXPECT_DOUBLE_EQ(PowerOf(expected, {}, library).full, 10'200);
  EXPECT_DOUBLE_EQ(PowerOf(expected, {}, library).cpu, 4600);
  FoundHardware found;
  found.gpus = 8;
  found.gpu_power_limits.assign(8, 500);
  EXPECT_DOUBLE_EQ(PowerOf(expected, found, library).full, 8600);
  expected.gpu_count = 1;
  EXPECT_DOUBLE_EQ(PowerOf(expected, {}, library).full, kDefaultCpuWatts + 700);
  expected.node_power_watts = 9000;
  EXPECT_DOUBLE_EQ(PowerOf(expected, found, library).full, 9000);
}

TEST(HardwareClass, NamesNodesWhosePowerIsEstimated) {
  const Inventory inventory =
      ParseInventory(
          {{"f",
            "cluster: x\nracks: {r1: {power_limit_watts: 9000}, r2: {}}\nnodes:\n"
            "  \"c[1-2]\": {role: compute, rack: r1, vars: {gpu_model: A}}\n"
            "  c3: {role: compute, rack: r1, vars: {gpu_model: A, node_power_watts: 900}}\n"
            "  c4: {role: compute, rack: r2, vars: {gpu_model: A}}\n"
            "  c5: {role: compute, rack: r1}\n"}})
          .value();
  EXPECT_THAT(CheckHardwareOf(inventory, Library("A"), {}),
              ElementsAre(HasSubstr("c[1-2]: no node_power_watts")));
}

TEST(HardwareClass, SaysWhatNoFileKnows) {
  const Inventory inventory = ReadFixture();
  EXPECT_THAT(CheckHardwareOf(inventory, Library("NVIDIA GeForce RTX 2080 TI Founders"), {}),
              ElementsAre(HasSubstr("cluster.yaml:6: gpu_count of node bad"),
                          HasSubstr("matches gpu 'NVIDIA GeForce RTX 2080 Ti' of c[1-3]"),
                          HasSubstr("matches nic 'ethernet 10 Gbit/s' of c[1-3],login1")));
  const Inventory nothing =
      ParseInventory({{"f", "cluster: x\nnodes: {c1: {role: compute}}\n"}}).value();
  EXPECT_THAT(CheckHardwareOf(nothing, HardwareLibrary(), {}), IsEmpty());
}

// Where the inventory has no gpu_model, their own names lead to the files.
TEST(HardwareClass, SaysWhichGpusThatWereFoundNoFileKnows) {
  const Inventory inventory = ParseInventory({{"f",
                                               "cluster: x\nnodes:\n  \"c[1-2]\": {role: compute}\n"
                                               "  c3: {role: compute, vars: {gpu_count: 0}}\n"
                                               "  c4: {role: compute, vars: {gpu_model: A}}\n"}})
                                  .value();
  EXPECT_THAT(CheckHardwareOf(inventory, Library("A"),
                              {{"c1", {"A", "B"}}, {"c2", {"B"}}, {"c3", {"B"}}, {"c4", {"B"}}}),
              ElementsAre(HasSubstr("matches gpu 'B' of c[1-2]")));
}

TEST(HardwareClass, InfinibandIsNamedByItsRate) {
  const Inventory inventory =
      ParseInventory({{"f",
                       "cluster: x\nvars: {infiniband_rate: FDR, infiniband_ports: 2}\n"
                       "nodes: {c1: {role: compute}}\n"}})
          .value();
  const HardwareClass read = ReadHardwareClass(inventory, inventory.nodes()[0]).value();
  EXPECT_EQ(read.Port(), "infiniband FDR");
  EXPECT_TRUE(TraitsOf(read, {}).rdma);
}

}  // namespace
}  // namespace muster::controller::validation
