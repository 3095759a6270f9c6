// The inventory's expectations of a node: its variables, read as hardware.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/inventory/inventory.h"
#include "controller/validation/schedule/power_budget.h"
#include "controller/validation/suite/found_hardware.h"
#include "controller/validation/suite/hardware.h"
#include "controller/validation/suite/suite.h"

namespace muster::controller::validation {

// The variables in docs/inventory.md; those that were not written are absent.
struct HardwareClass {
  std::optional<std::string> gpu_model;
  std::optional<int> gpu_count;
  std::optional<double> gpu_temperature_limit_celsius;
  std::string gpu_temperature_source;  // "cluster.yaml:38, gpu_temperature_limit_celsius"
  std::optional<double> node_power_watts;
  std::optional<double> node_idle_watts;
  std::optional<std::string> node_model;  // whole machine: "SYS-4029GP, 2 × Xeon 4216"
  // The expectations that gpu-inventory checks on each GPU.
  std::vector<std::string> gpu_vbios;     // one of these
  std::optional<std::string> gpu_driver;  // "535.261.03"
  std::optional<std::string> gpu_memory;  // minimum; "79GiB"
  std::optional<int> gpu_pcie_generation;
  std::optional<int> gpu_pcie_width;
  std::optional<int> gpu_nvlinks;
  std::optional<double> gpu_power_limit_watts;
  std::optional<bool> gpu_ecc;
  std::optional<bool> gpu_persistence;
  std::optional<double> network_gbits_per_s;
  std::optional<int> network_mtu;
  std::vector<std::string> network_interfaces;  // that run at this speed; empty: not given
  std::optional<std::string> network_driver;    // of these interfaces; "mlx5_core"
  std::vector<std::string> network_firmware;    // one of these
  // The switches that these interfaces are cabled to: as written, otherwise the rack's.
  std::vector<std::string> network_switches;
  std::optional<std::string> infiniband_rate;  // "FDR"
  int infiniband_ports = 0;
  std::vector<std::string> required_mounts;  // paths where a file system is mounted
  std::vector<std::string> disk_paths;       // folders on disks that are to be measured

  // Nodes of the same name are peers: "4 × NVIDIA GeForce RTX 2080 Ti, ethernet 10 Gbit/s".
  std::string Name() const;
  // Whether nodes of this name are equal machines: a network port alone does not mean that.
  bool SaysWhichMachine() const { return gpu_model.has_value() || node_model.has_value(); }
  // The network port by which files of inventory/hardware are matched; empty: not known.
  std::string Port() const;
};

// InvalidArgument holds all invalid variables of the node, each with its place: "cluster.yaml:34:
// gpu_count of node c001 is a whole number from 0 to 1024, not 'four'".
absl::StatusOr<HardwareClass> ReadHardwareClass(const Inventory& inventory, const Node& node);

// The traits that conditions of suites ask for: expected or found.
NodeTraits TraitsOf(const HardwareClass& expected, const FoundHardware& found);
// Uses the GPUs' power limits in force; where they are not known, the inventory's, then that of the
// model's file, which may also say what a node of such GPUs draws beside them.
NodePower PowerOf(const HardwareClass& expected, const FoundHardware& found,
                  const HardwareLibrary& library);

// The racks of the inventory that have a limit. Nodes in them that are not in `tested` are assumed
// to draw full power, because their jobs continue; `found` by name, for the nodes that were looked
// at. InvalidArgument as ReadHardwareClass().
absl::StatusOr<std::vector<RackPower>> RackPowers(
    const Inventory& inventory, const std::vector<std::string>& tested,
    const HardwareLibrary& library, const std::map<std::string, FoundHardware>& found);

// What is missing about the hardware in the inventory, a sentence each: models that no hardware
// file knows, which are compared only with their peers, and the power of nodes with GPUs in racks
// with a limit. `found_gpus`: by node, the names that drivers reported, which count where the
// inventory has no gpu_model. Includes errors of ReadHardwareClass().
std::vector<std::string> CheckHardwareOf(
    const Inventory& inventory, const HardwareLibrary& library,
    const std::map<std::string, std::set<std::string>>& found_gpus);

}  // namespace muster::controller::validation
