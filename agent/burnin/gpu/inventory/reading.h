// Everything that gpu-inventory reads from one GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/burnin/gpu/driver/nvml.h"
#include "agent/burnin/gpu/gpus.h"
#include "agent/burnin/gpu/inventory/pcie_load.h"
#include "agent/burnin/sysfs/pcie_link.h"

namespace muster::burnin {

// Each value or the reason why there is none: Unimplemented means that the GPU does not report it.
struct GpuReading {
  absl::StatusOr<std::string> vbios, serial;
  absl::StatusOr<double> memory_bytes, power_limit_watts, temperature_celsius;
  absl::StatusOr<bool> persistence;
  absl::StatusOr<unsigned long long> clock_reasons;
  absl::StatusOr<double> sm_mhz, memory_mhz, max_sm_mhz, max_memory_mhz;
  // Set by `nvidia-smi -ac`.
  absl::StatusOr<double> application_mhz, default_application_mhz;

  absl::Status load;  // OK: there was load when the two were read
  absl::StatusOr<unsigned> pcie_generation, pcie_width;
  absl::StatusOr<unsigned> max_pcie_generation, max_pcie_width, card_pcie_generation;
  absl::StatusOr<unsigned> pcie_replays;

  absl::StatusOr<NvmlDevice::EccMode> ecc;
  absl::StatusOr<unsigned long long> ecc_corrected, ecc_uncorrected;  // over its lifetime
  absl::StatusOr<unsigned long long> ecc_uncorrected_now;             // since the driver was loaded
  absl::StatusOr<NvmlDevice::RemappedRows> remapped;
  absl::StatusOr<unsigned> retired_single, retired_double;
  absl::StatusOr<bool> retirement_pending;

  absl::StatusOr<std::vector<bool>> links;  // whether each is up
  struct LinkErrors {
    const char* counter;
    absl::StatusOr<unsigned long long> count;  // over all links
  };
  std::vector<LinkErrors> link_errors;
  absl::StatusOr<nvml::FabricInfo> fabric;
  absl::StatusOr<NvmlDevice::MigMode> mig;
  absl::StatusOr<nvml::ComputeMode> compute_mode;
};

// Calls `read` while the link of the GPU at that address carries traffic, as UnderPcieLoad() does.
using PcieLoad =
    std::function<absl::Status(const std::string& pci_address, const std::function<void()>& read)>;

// Blocks as long as NVML does. Copies to and from the GPU for a moment, because an idle PCIe link
// falls back to its lowest generation.
GpuReading ReadGpu(const Gpu& gpu, const PcieLoad& load = UnderPcieLoad);

// Lowers what card and slot can do to what the port above the card can: some drivers report the
// card's own lanes in a slot that has fewer. nullopt changes nothing.
void LimitByPort(const std::optional<PcieLink>& port, GpuReading& reading);

}  // namespace muster::burnin
