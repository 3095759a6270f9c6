#include "controller/validation/verdict/expected_parameters.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/checks/catalog.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

absl::StatusOr<HardwareClass> ReadClass(const std::string& vars) {
  const Inventory inventory =
      ParseInventory({{"cluster.yaml", absl::StrCat("cluster: x\nnodes:\n  c1: {role: compute}\n",
                                                    "vars: {", vars, "}\n")}})
          .value();
  return ReadHardwareClass(inventory, *inventory.FindNode("c1"));
}

std::map<std::string, std::string> Parameters(const std::string& check, const std::string& vars,
                                              const FoundHardware& found = {}) {
  return WithExpectedParameters(check, {}, ReadClass(vars).value(), found);
}

TEST(ExpectedParameters, AreWhatTheInventorySays) {
  EXPECT_THAT(Parameters("gpu-inventory",
                         "gpu_count: 4, gpu_model: NVIDIA H100 80GB HBM3, "
                         "gpu_vbios: [96.00.89.00.01, 96.00.99.00.01], gpu_driver: 535.261.03, "
                         "gpu_memory: 79GiB, gpu_pcie_generation: 5, gpu_pcie_width: 16, "
                         "gpu_nvlinks: 18, gpu_power_limit_watts: 612.5, gpu_ecc: true, "
                         "gpu_persistence: true"),
              UnorderedElementsAre(Pair("count", "4"), Pair("model", "NVIDIA H100 80GB HBM3"),
                                   Pair("vbios", "96.00.89.00.01,96.00.99.00.01"),
                                   Pair("driver", "535.261.03"), Pair("memory", "79GiB"),
                                   Pair("pcie-generation", "5"), Pair("pcie-width", "16"),
                                   Pair("nvlinks", "18"), Pair("power-limit", "612.5"),
                                   Pair("ecc", "on"), Pair("persistence", "on")));
  EXPECT_THAT(Parameters("gpu-inventory", "gpu_nvlinks: 0"), ElementsAre(Pair("nvlinks", "0")));
  EXPECT_THAT(Parameters("gpu-inventory", "network_mtu: 9000"), IsEmpty());
  EXPECT_THAT(Parameters("gpu-gemm", "gpu_count: 4"), IsEmpty());
  EXPECT_THAT(Parameters("slurm-node", "gpu_count: 0"), ElementsAre(Pair("count-gpus", "false")));
  EXPECT_THAT(Parameters("slurm-node", "gpu_count: 4"), IsEmpty());
  EXPECT_THAT(Parameters("rdma-pair", "infiniband_rate: FDR, infiniband_ports: 2"),
              ElementsAre(Pair("ports", "2")));
  EXPECT_THAT(Parameters("rdma-pair", "network_gbits_per_s: 10"), IsEmpty());
}

TEST(ExpectedParameters, OfAPortNeedToKnowWhichItIs) {
  FoundHardware sole;
  sole.sole_port = "eno1";
  EXPECT_THAT(Parameters("nic-link", "network_gbits_per_s: 10, network_mtu: 9000"), IsEmpty());
  EXPECT_THAT(Parameters("nic-link", "network_gbits_per_s: 10, network_mtu: 9000", sole),
              UnorderedElementsAre(Pair("interfaces", "eno1"), Pair("speed", "10000"),
                                   Pair("mtu", "9000")));
  EXPECT_THAT(Parameters("nic-link", "cabinet: 3", sole), IsEmpty());
  EXPECT_THAT(
      Parameters("nic-link", "network_interfaces: [eth0, eth1], network_gbits_per_s: 2.5", sole),
      UnorderedElementsAre(Pair("interfaces", "eth0,eth1"), Pair("speed", "2500")));
}

TEST(ExpectedParameters, OfAPortAreItsCardAndItsSwitchToo) {
  FoundHardware sole;
  sole.sole_port = "eno1";
  const char* vars =
      "network_driver: mlx5_core, network_switches: [leaf1, leaf2], "
      "network_firmware: [16.35.2000, \"9.20 0x8000d95e 22.0.9\"]";
  EXPECT_THAT(Parameters("nic-link", vars), IsEmpty());
  EXPECT_THAT(Parameters("nic-link", vars, sole),
              UnorderedElementsAre(Pair("interfaces", "eno1"), Pair("driver", "mlx5_core"),
                                   Pair("firmware", "16.35.2000,9.20 0x8000d95e 22.0.9"),
                                   Pair("neighbors", "leaf1,leaf2")));
}

TEST(ExpectedParameters, TheSwitchIsThatOfTheRackUnlessTheNodeSaysAnother) {
  const Inventory inventory =
      ParseInventory({{"cluster.yaml",
                       "cluster: x\nracks: {r1: {switch: leaf1}, r2: {}}\n"
                       "vars: {network_interfaces: eth0}\nnodes:\n"
                       "  c1: {role: compute, rack: r1}\n"
                       "  c2: {role: compute, rack: r2}\n"
                       "  c3: {role: compute, rack: r1, vars: {network_switches: leaf3}}\n"}})
          .value();
  const auto of = [&](const char* node) {
    return WithExpectedParameters(
        "nic-link", {}, ReadHardwareClass(inventory, *inventory.FindNode(node)).value(), {});
  };
  EXPECT_THAT(of("c1"),
              UnorderedElementsAre(Pair("interfaces", "eth0"), Pair("neighbors", "leaf1")));
  EXPECT_THAT(of("c2"), ElementsAre(Pair("interfaces", "eth0")));
  EXPECT_THAT(of("c3"),
              UnorderedElementsAre(Pair("interfaces", "eth0"), Pair("neighbors", "leaf3")));
}

TEST(ExpectedParameters, NameTheFoldersOnDisks) {
  EXPECT_THAT(Parameters("disk", "disk_paths: [/scratch, /var/tmp]"),
              ElementsAre(Pair("paths", "/scratch,/var/tmp")));
}

TEST(ExpectedParameters, NameWhatMustBeMounted) {
  EXPECT_THAT(Parameters("file-systems", "required_mounts: /beegfs"),
              ElementsAre(Pair("paths", "/beegfs")));
  EXPECT_THAT(Parameters("file-systems", "required_mounts: [/beegfs, /srv/data]"),
              ElementsAre(Pair("paths", "/beegfs,/srv/data")));
  EXPECT_THAT(Parameters("disk", "required_mounts: /beegfs"), IsEmpty());
  EXPECT_THAT(WithExpectedParameters("file-systems", {{"paths", "/scratch"}},
                                     ReadClass("required_mounts: /beegfs").value(), {}),
              ElementsAre(Pair("paths", "/scratch")));
}

TEST(ExpectedParameters, TheSuiteComesFirst) {
  const HardwareClass expected =
      ReadClass("gpu_count: 4, gpu_nvlinks: 18, network_interfaces: eth0, network_mtu: 9000")
          .value();
  EXPECT_THAT(
      WithExpectedParameters("gpu-inventory", {{"count", "2"}, {"gpus", "0-1"}}, expected, {}),
      UnorderedElementsAre(Pair("count", "2"), Pair("gpus", "0-1"), Pair("nvlinks", "18")));
  EXPECT_THAT(WithExpectedParameters("nic-link", {{"duration", "2s"}}, expected, {}),
              UnorderedElementsAre(Pair("duration", "2s"), Pair("interfaces", "eth0"),
                                   Pair("mtu", "9000")));
  // The suite's ports are not those of the inventory.
  EXPECT_THAT(WithExpectedParameters("nic-link", {{"interfaces", "ib0"}}, expected, {}),
              ElementsAre(Pair("interfaces", "ib0")));
}

// Workers refuse nothing that the inventory accepts.
TEST(ExpectedParameters, AreTakenByTheChecks) {
  size_t handed = 0;
  for (const char* vars :
       {"gpu_count: 0, gpu_pcie_generation: 1, gpu_pcie_width: 1, gpu_nvlinks: 0, "
        "gpu_power_limit_watts: 10, gpu_memory: 1MiB, gpu_vbios: x, gpu_driver: \"1\", "
        "gpu_model: x, gpu_ecc: true, gpu_persistence: true, network_gbits_per_s: 0.01, "
        "network_mtu: 68, "
        "network_interfaces: e, required_mounts: /, network_driver: x, network_firmware: \"1\", "
        "network_switches: s, disk_paths: /tmp",
        "gpu_count: 1024, gpu_pcie_generation: 16, gpu_pcie_width: 32, gpu_nvlinks: 64, "
        "gpu_power_limit_watts: 10000, gpu_memory: 900TiB, gpu_vbios: [x, y], gpu_driver: z, "
        "gpu_model: \"a, b\", gpu_ecc: false, gpu_persistence: false, network_gbits_per_s: 10000, "
        "network_mtu: 65536, "
        "network_interfaces: [abcdefghijklmno], required_mounts: [/beegfs, /mnt/scratch.2], "
        "network_driver: \"a, b\", network_firmware: [a b, c], network_switches: [s, t.u], "
        "disk_paths: [/a, /b]"}) {
    for (const checks::CheckSpec* check : checks::Checks()) {
      const auto parameters = Parameters(std::string(check->name), vars);
      handed += parameters.size();
      EXPECT_OK(checks::Parameters::Parse(*check, parameters).status()) << check->name;
    }
  }
  EXPECT_EQ(handed, 39u);  // 20 and 19: slurm-node is told of GPUs that are not used, alone
}

TEST(ExpectedParameters, WrongValuesAreNamed) {
  for (const char* vars : {"gpu_vbios: []",
                           "gpu_vbios: \"a,b\"",
                           "gpu_vbios: [a, 3]",
                           "gpu_driver: 535",
                           "gpu_memory: 79",
                           "gpu_memory: \"79\"",
                           "gpu_memory: 79 giga",
                           "gpu_pcie_generation: 0",
                           "gpu_pcie_width: 64",
                           "gpu_nvlinks: many",
                           "gpu_power_limit_watts: 0",
                           "gpu_ecc: maybe",
                           "gpu_ecc: 1",
                           "gpu_persistence: always",
                           "network_mtu: 9",
                           "network_interfaces: [eth0/1]",
                           "network_interfaces: \"abcdefghijklmnop\"",
                           "network_interfaces: {a: b}",
                           "network_driver: 3",
                           "network_firmware: \"a,b\"",
                           "network_firmware: \" a\"",
                           "network_switches: a b",
                           "disk_paths: scratch",
                           "required_mounts: beegfs",
                           "required_mounts: /beegfs/",
                           "required_mounts: []",
                           "required_mounts: \"/a,/b\"",
                           "required_mounts: [/a, /b/../c]",
                           "required_mounts: //a",
                           "required_mounts: \"/a b\"",
                           "required_mounts: 3",
                           "required_mounts: /./a",
                           "required_mounts: /"
                           "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                           "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}) {
    EXPECT_THAT(ReadClass(vars), StatusIs(absl::StatusCode::kInvalidArgument, Said())) << vars;
  }
}

}  // namespace
}  // namespace muster::controller::validation
