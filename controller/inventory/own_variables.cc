#include "controller/inventory/own_variables.h"

#include <cstddef>

#include "common/base/text/nearest_word.h"

namespace muster::controller {
namespace {

// A name of fewer letters is like too many others: share, spare, stack.
constexpr size_t kShortest = 6;
// One of so many letters may have two mistakes.
constexpr size_t kLong = 16;

}  // namespace

const std::vector<std::string>& OwnVariables() {
  static const auto* const kNames = new std::vector<std::string>{
      // Reboots, and where Slurm is.
      "reboots_per_rack", "reboots_per_switch", "reboot_gap", "slurm_controller",
      "slurm_backup_controllers", "stack",
      // BMCs: the table in bmc_access.cc.
      "bmc_protocol", "bmc_port", "bmc_user", "bmc_password_secret", "bmc_certificate", "bmc_ca",
      "bmc_verify", "bmc_system", "bmc_cycle_after", "bmc_cipher_suite", "bmc_console",
      // Network boot: boot_choice.cc and self_join.cc.
      "boot", "boot_disk", "boot_join", "boot_peers", "boot_rescue_image", "boot_signed",
      "boot_tpm", "boot_trusted_networks", "boot_unknown",
      // Hardware: controller/validation/verdict/hardware_class.cc.
      "gpu_model", "gpu_count", "gpu_vbios", "gpu_driver", "gpu_memory", "gpu_pcie_generation",
      "gpu_pcie_width", "gpu_nvlinks", "gpu_power_limit_watts", "gpu_ecc", "gpu_persistence",
      "gpu_temperature_limit_celsius", "node_model", "node_power_watts", "node_idle_watts",
      "network_gbits_per_s", "network_mtu", "network_interfaces", "network_driver",
      "network_firmware", "network_switches", "infiniband_rate", "infiniband_ports",
      "required_mounts", "disk_paths"};
  return *kNames;
}

std::string NearestVariable(absl::string_view name, const std::vector<std::string>& known) {
  if (name.size() < kShortest) return "";
  return NearestWord(name, known, name.size() < kLong ? 1 : 2);
}

}  // namespace muster::controller
