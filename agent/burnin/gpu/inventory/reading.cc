#include "agent/burnin/gpu/inventory/reading.h"

#include <algorithm>
#include <utility>

#include "agent/burnin/gpu/links.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

// A counter that the GPU lacks does not keep the others from being read.
std::vector<GpuReading::LinkErrors> ReadLinkErrors(const NvmlDevice& device, size_t links) {
  std::vector<GpuReading::LinkErrors> errors;
  for (const LinkCounter& row : LinkCounters())
    errors.push_back({row.name, SumOfLinks(device, links, row.counter)});
  return errors;
}

absl::StatusOr<double> TotalMemory(const NvmlDevice& device) {
  ASSIGN_OR_RETURN(const nvml::Memory memory, device.MemoryBytes());
  return static_cast<double>(memory.total);
}

}  // namespace

GpuReading ReadGpu(const Gpu& gpu, const PcieLoad& load) {
  const NvmlDevice& device = gpu.nvml;
  GpuReading reading;
  reading.vbios = device.Vbios();
  reading.serial = device.Serial();
  reading.memory_bytes = TotalMemory(device);
  reading.power_limit_watts = device.PowerLimitWatts();
  reading.persistence = device.Persistence();
  reading.load = load(gpu.pci_address, [&] {
    reading.pcie_generation = device.PcieGeneration();
    reading.pcie_width = device.PcieWidth();
    reading.clock_reasons = device.ClockReasons();
    reading.temperature_celsius = device.TemperatureCelsius();
    reading.sm_mhz = device.ClockMhz(nvml::kClockSm);
    reading.memory_mhz = device.ClockMhz(nvml::kClockMemory);
  });
  reading.max_sm_mhz = device.MaxClockMhz(nvml::kClockSm);
  reading.max_memory_mhz = device.MaxClockMhz(nvml::kClockMemory);
  reading.application_mhz = device.ApplicationClockMhz(nvml::kClockGraphics);
  reading.default_application_mhz = device.DefaultApplicationClockMhz(nvml::kClockGraphics);
  reading.max_pcie_generation = device.MaxPcieGeneration();
  reading.max_pcie_width = device.MaxPcieWidth();
  reading.card_pcie_generation = device.CardMaxPcieGeneration();
  reading.pcie_replays = device.PcieReplays();
  reading.ecc = device.Ecc();
  reading.ecc_corrected = device.EccErrors(nvml::kCorrected, nvml::kAggregateEcc);
  reading.ecc_uncorrected = device.EccErrors(nvml::kUncorrected, nvml::kAggregateEcc);
  reading.ecc_uncorrected_now = device.EccErrors(nvml::kUncorrected, nvml::kVolatileEcc);
  reading.remapped = device.Remapped();
  reading.retired_single = device.RetiredPages(nvml::kMultipleSingleBit);
  reading.retired_double = device.RetiredPages(nvml::kDoubleBit);
  reading.retirement_pending = device.RetirementPending();
  reading.links = ReadLinks(device);
  if (reading.links.ok()) reading.link_errors = ReadLinkErrors(device, reading.links->size());
  reading.fabric = device.Fabric();
  reading.mig = device.Mig();
  reading.compute_mode = device.ComputeMode();
  return reading;
}

void LimitByPort(const std::optional<PcieLink>& port, GpuReading& reading) {
  if (!port.has_value()) return;
  const auto lower = [](unsigned most, absl::StatusOr<unsigned>& value) {
    if (value.ok()) value = std::min(*value, most);
  };
  lower(static_cast<unsigned>(port->width), reading.max_pcie_width);
  if (const unsigned generation = PcieGenerationOf(port->speed_gts); generation > 0)
    lower(generation, reading.max_pcie_generation);
}

}  // namespace muster::burnin
