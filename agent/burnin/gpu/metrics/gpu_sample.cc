#include "agent/burnin/gpu/metrics/gpu_sample.h"

#include <iterator>
#include <memory>

namespace muster::burnin {
namespace {

constexpr double kMega = 1e6;
constexpr double kPercent = 1e-2;

template <typename T>
std::optional<double> Known(const absl::StatusOr<T>& value, double unit = 1) {
  if (!value.ok()) return std::nullopt;
  return static_cast<double>(*value) * unit;
}

std::optional<double> Busy(const NvmlDevice& gpu) {
  const absl::StatusOr<nvml::Utilization> use = gpu.Utilization();
  if (!use.ok()) return std::nullopt;
  return use->gpu * kPercent;
}

template <unsigned long long nvml::Memory::*part>
std::optional<double> MemoryPart(const NvmlDevice& gpu) {
  const absl::StatusOr<nvml::Memory> memory = gpu.MemoryBytes();
  if (!memory.ok()) return std::nullopt;
  return static_cast<double>((*memory).*part);
}

template <nvml::ClockType clock>
std::optional<double> Clock(const NvmlDevice& gpu) {
  return Known(gpu.ClockMhz(clock), kMega);
}

template <unsigned long long bits>
std::optional<double> Slowed(const NvmlDevice& gpu) {
  const absl::StatusOr<unsigned long long> reasons = gpu.ClockReasons();
  if (!reasons.ok()) return std::nullopt;
  return (*reasons & bits) != 0 ? 1 : 0;
}

template <nvml::MemoryErrorType type>
std::optional<double> Errors(const NvmlDevice& gpu) {
  return Known(gpu.EccErrors(type, nvml::kAggregateEcc));
}

template <typename Field, Field NvmlDevice::RemappedRows::*field>
std::optional<double> Rows(const NvmlDevice& gpu) {
  const absl::StatusOr<NvmlDevice::RemappedRows> rows = gpu.Remapped();
  if (!rows.ok()) return std::nullopt;
  return static_cast<double>((*rows).*field);
}

constexpr char kSlowdownHelp[] = "Whether the GPU runs below its clocks, and for what reason";
constexpr char kErrorsHelp[] = "Errors of the GPU's memory that ECC found, in its lifetime";
constexpr char kRowsHelp[] = "Rows of the GPU's memory that were replaced after errors";
constexpr char kRetiredHelp[] = "Pages of the GPU's memory that were retired after errors";

using Remapped = NvmlDevice::RemappedRows;

constexpr GpuMetric kMetrics[] = {
    {"muster_gpu_temperature_celsius", "", "gauge", "Temperature of the GPU",
     [](const NvmlDevice& gpu) { return Known(gpu.TemperatureCelsius()); }},
    {"muster_gpu_power_watts", "", "gauge", "Power that the board draws",
     [](const NvmlDevice& gpu) { return Known(gpu.PowerWatts()); }},
    {"muster_gpu_power_limit_watts", "", "gauge", "Power limit in force",
     [](const NvmlDevice& gpu) { return Known(gpu.PowerLimitWatts()); }},
    {"muster_gpu_utilization_ratio", "", "gauge",
     "Share of the driver's last sample in which a kernel ran", &Busy},
    {"muster_gpu_memory_used_bytes", "", "gauge", "Memory of the GPU in use",
     &MemoryPart<&nvml::Memory::used>},
    {"muster_gpu_memory_total_bytes", "", "gauge", "Memory of the GPU",
     &MemoryPart<&nvml::Memory::total>},
    {"muster_gpu_sm_clock_hertz", "", "gauge", "Clock of the multiprocessors",
     &Clock<nvml::kClockSm>},
    {"muster_gpu_memory_clock_hertz", "", "gauge", "Clock of the memory",
     &Clock<nvml::kClockMemory>},
    {"muster_gpu_slowed", R"(reason="thermal")", "gauge", kSlowdownHelp,
     &Slowed<nvml::kReasonHardwareThermal | nvml::kReasonSoftwareThermal>},
    {"muster_gpu_slowed", R"(reason="power_brake")", "gauge", kSlowdownHelp,
     &Slowed<nvml::kReasonPowerBrake>},
    {"muster_gpu_slowed", R"(reason="power_cap")", "gauge", kSlowdownHelp,
     &Slowed<nvml::kReasonSoftwarePowerCap>},
    {"muster_gpu_ecc_errors_total", R"(kind="corrected")", "counter", kErrorsHelp,
     &Errors<nvml::kCorrected>},
    {"muster_gpu_ecc_errors_total", R"(kind="uncorrected")", "counter", kErrorsHelp,
     &Errors<nvml::kUncorrected>},
    {"muster_gpu_remapped_rows", R"(kind="corrected")", "gauge", kRowsHelp,
     &Rows<unsigned, &Remapped::corrected>},
    {"muster_gpu_remapped_rows", R"(kind="uncorrected")", "gauge", kRowsHelp,
     &Rows<unsigned, &Remapped::uncorrected>},
    {"muster_gpu_remapping_pending", "", "gauge", "Whether rows wait for a reset to be replaced",
     &Rows<bool, &Remapped::pending>},
    {"muster_gpu_remapping_failed", "", "gauge",
     "Whether the GPU ran out of rows to replace others", &Rows<bool, &Remapped::failed>},
    {"muster_gpu_retired_pages", R"(kind="corrected")", "gauge", kRetiredHelp,
     [](const NvmlDevice& gpu) { return Known(gpu.RetiredPages(nvml::kMultipleSingleBit)); }},
    {"muster_gpu_retired_pages", R"(kind="uncorrected")", "gauge", kRetiredHelp,
     [](const NvmlDevice& gpu) { return Known(gpu.RetiredPages(nvml::kDoubleBit)); }},
    {"muster_gpu_pcie_replays_total", "", "counter", "Packets that PCIe had to send again",
     [](const NvmlDevice& gpu) { return Known(gpu.PcieReplays()); }},
    {"muster_gpu_pcie_width", "", "gauge", "PCIe lanes in use",
     [](const NvmlDevice& gpu) { return Known(gpu.PcieWidth()); }},
    {"muster_gpu_pcie_max_width", "", "gauge", "PCIe lanes of card and slot together",
     [](const NvmlDevice& gpu) { return Known(gpu.MaxPcieWidth()); }},
};

GpuSample SampleOf(const Nvml& nvml, unsigned index) {
  GpuSample sample;
  sample.index = index;
  sample.values.resize(std::size(kMetrics));
  const absl::StatusOr<nvml::Device> handle = nvml.DeviceAt(index);
  if (!handle.ok()) {
    sample.is_lost = absl::IsDataLoss(handle.status());
    return sample;
  }
  const NvmlDevice gpu(nvml, *handle);
  sample.uuid = gpu.Uuid().value_or("");
  sample.model = gpu.Name().value_or("");
  sample.pci_address = gpu.PciAddress().value_or("");
  // Every GPU has a temperature: a call that tells whether it still answers.
  sample.is_lost = absl::IsDataLoss(gpu.TemperatureCelsius().status());
  if (sample.is_lost) return sample;
  for (size_t i = 0; i < sample.values.size(); ++i) sample.values[i] = kMetrics[i].read(gpu);
  return sample;
}

}  // namespace

absl::Span<const GpuMetric> GpuMetrics() { return kMetrics; }

NodeSample SampleGpus(const std::string& library) {
  NodeSample sample;
  const absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Load(library);
  if (!nvml.ok()) return sample;
  sample.driver_version = (*nvml)->DriverVersion().value_or("unknown");
  const unsigned count = (*nvml)->DeviceCount().value_or(0);
  for (unsigned i = 0; i < count; ++i) sample.gpus.push_back(SampleOf(**nvml, i));
  return sample;
}

}  // namespace muster::burnin
