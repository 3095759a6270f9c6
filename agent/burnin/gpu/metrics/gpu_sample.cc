#include "agent/burnin/gpu/metrics/gpu_sample.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/burnin/gpu/links.h"
#include "agent/burnin/gpu/pci_slots.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

constexpr double kMega = 1e6;
constexpr double kPercent = 1e-2;

template <typename T>
std::optional<double> Known(const absl::StatusOr<T>& value, double unit = 1) {
  if (!value.ok()) return std::nullopt;
  return static_cast<double>(*value) * unit;
}

std::optional<double> Busy(const SampledGpu& gpu) {
  const absl::StatusOr<nvml::Utilization> use = gpu.Utilization();
  if (!use.ok()) return std::nullopt;
  return use->gpu * kPercent;
}

template <unsigned long long nvml::Memory::*part>
std::optional<double> MemoryPart(const SampledGpu& gpu) {
  const absl::StatusOr<nvml::Memory> memory = gpu.MemoryBytes();
  if (!memory.ok()) return std::nullopt;
  return static_cast<double>((*memory).*part);
}

template <nvml::ClockType clock>
std::optional<double> ClockHertz(const SampledGpu& gpu) {
  return Known(gpu.ClockMhz(clock), kMega);
}

// The driver's own slowdown for heat is one only at a highest operating temperature. Below it, a
// consumer card is held at its target, by design: kSlowdowns.
std::optional<double> SlowedByHeat(const SampledGpu& gpu) {
  const absl::StatusOr<unsigned long long> reasons = gpu.ClockReasons();
  if (!reasons.ok()) return std::nullopt;
  if ((*reasons & nvml::kReasonHardwareThermal) != 0) return 1;
  return (*reasons & nvml::kReasonSoftwareThermal) != 0 && gpu.is_at_limit ? 1 : 0;
}

std::optional<double> HeldAtTarget(const SampledGpu& gpu) {
  const absl::StatusOr<unsigned long long> reasons = gpu.ClockReasons();
  if (!reasons.ok()) return std::nullopt;
  return (*reasons & nvml::kReasonSoftwareThermal) != 0 && !gpu.is_at_limit ? 1 : 0;
}

template <unsigned long long bits>
std::optional<double> Slowed(const SampledGpu& gpu) {
  const absl::StatusOr<unsigned long long> reasons = gpu.ClockReasons();
  if (!reasons.ok()) return std::nullopt;
  return (*reasons & bits) != 0 ? 1 : 0;
}

template <nvml::MemoryErrorType type>
std::optional<double> Errors(const SampledGpu& gpu) {
  return Known(gpu.EccErrors(type, nvml::kAggregateEcc));
}

template <typename Field, Field NvmlDevice::RemappedRows::*field>
std::optional<double> Rows(const SampledGpu& gpu) {
  const absl::StatusOr<NvmlDevice::RemappedRows> rows = gpu.Remapped();
  if (!rows.ok()) return std::nullopt;
  return static_cast<double>((*rows).*field);
}

std::optional<double> Persistent(const SampledGpu& gpu) {
  const absl::StatusOr<bool> mode = gpu.Persistence();
  if (!mode.ok()) return std::nullopt;
  return *mode ? 1 : 0;
}

std::optional<double> Divided(const SampledGpu& gpu) {
  const absl::StatusOr<NvmlDevice::MigMode> mode = gpu.Mig();
  if (!mode.ok()) return std::nullopt;
  return mode->current ? 1 : 0;
}

std::optional<double> MemoryLimit(const SampledGpu& gpu) { return gpu.limits.memory_celsius; }

std::optional<double> Up(const SampledGpu& gpu) {
  if (!gpu.links.ok()) return std::nullopt;
  return static_cast<double>(LinksUp(*gpu.links));
}

// The lanes that card and slot have together, as gpu-inventory judges them.
std::optional<double> MostLanes(const SampledGpu& gpu) {
  std::optional<double> most = Known(gpu.MaxPcieWidth());
  if (most.has_value() && gpu.port.has_value()) most = std::min<double>(*most, gpu.port->width);
  return most;
}

std::optional<double> Missing(const SampledGpu& gpu) {
  const absl::StatusOr<std::string> model = gpu.Name();
  if (!gpu.links.ok() || !model.ok()) return std::nullopt;
  return static_cast<double>(MissingLinks(*model, *gpu.links));
}

template <nvml::LinkErrorCounter counter>
std::optional<double> LinkErrorsOf(const SampledGpu& gpu) {
  if (!gpu.links.ok()) return std::nullopt;
  return Known(SumOfLinks(gpu, gpu.links->size(), counter));
}

template <FabricTrouble trouble>
std::optional<double> Fabric(const SampledGpu& gpu) {
  if (!gpu.fabric.ok() || gpu.fabric->state == nvml::kFabricNotSupported) return std::nullopt;
  const std::vector<FabricFault> faults = JudgeFabric(*gpu.fabric);
  return std::any_of(faults.begin(), faults.end(),
                     [](const FabricFault& fault) { return fault.trouble == trouble; })
             ? 1
             : 0;
}

constexpr char kLinkErrorsHelp[] = "Errors that the GPU's NVLinks counted, all links together";
constexpr char kFabricHelp[] = "Whether the GPU's place in the NVLink fabric is in trouble";
constexpr char kSlowdownHelp[] = "Whether the GPU runs below its clocks, and for what reason";
constexpr char kErrorsHelp[] = "Errors of the GPU's memory that ECC found, in its lifetime";
constexpr char kRowsHelp[] = "Rows of the GPU's memory that were replaced after errors";
constexpr char kRetiredHelp[] = "Pages of the GPU's memory that were retired after errors";

using Remapped = NvmlDevice::RemappedRows;

constexpr GpuMetric kMetrics[] = {
    {"muster_gpu_temperature_celsius", "", "gauge", "Temperature of the GPU",
     [](const SampledGpu& gpu) { return Known(gpu.TemperatureCelsius()); }},
    {"muster_gpu_memory_temperature_celsius", "", "gauge", "Temperature of the GPU's memory",
     [](const SampledGpu& gpu) { return Known(gpu.MemoryTemperatureCelsius()); }},
    {"muster_gpu_memory_temperature_limit_celsius", "", "gauge",
     "Highest operating temperature of the GPU's memory", &MemoryLimit},
    {"muster_gpu_power_watts", "", "gauge", "Power that the board draws",
     [](const SampledGpu& gpu) { return Known(gpu.PowerWatts()); }},
    {"muster_gpu_power_limit_watts", "", "gauge", "Power limit in force",
     [](const SampledGpu& gpu) { return Known(gpu.PowerLimitWatts()); }},
    {"muster_gpu_utilization_ratio", "", "gauge",
     "Share of the driver's last sample in which a kernel ran", &Busy},
    {"muster_gpu_persistence", "", "gauge",
     "Whether the driver keeps the GPU initialized while no program uses it", &Persistent},
    {"muster_gpu_mig", "", "gauge", "Whether the GPU is divided into instances (MIG mode)",
     &Divided},
    {"muster_gpu_memory_used_bytes", "", "gauge", "Memory of the GPU in use",
     &MemoryPart<&nvml::Memory::used>},
    {"muster_gpu_memory_total_bytes", "", "gauge", "Memory of the GPU",
     &MemoryPart<&nvml::Memory::total>},
    {"muster_gpu_sm_clock_hertz", "", "gauge", "Clock of the multiprocessors",
     &ClockHertz<nvml::kClockSm>},
    {"muster_gpu_memory_clock_hertz", "", "gauge", "Clock of the memory",
     &ClockHertz<nvml::kClockMemory>},
    {"muster_gpu_slowed", R"(reason="thermal")", "gauge", kSlowdownHelp, &SlowedByHeat},
    {"muster_gpu_slowed", R"(reason="thermal_target")", "gauge", kSlowdownHelp, &HeldAtTarget},
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
     [](const SampledGpu& gpu) { return Known(gpu.RetiredPages(nvml::kMultipleSingleBit)); }},
    {"muster_gpu_retired_pages", R"(kind="uncorrected")", "gauge", kRetiredHelp,
     [](const SampledGpu& gpu) { return Known(gpu.RetiredPages(nvml::kDoubleBit)); }},
    {"muster_gpu_pcie_replays_total", "", "counter", "Packets that PCIe had to send again",
     [](const SampledGpu& gpu) { return Known(gpu.PcieReplays()); }},
    {"muster_gpu_pcie_width", "", "gauge", "PCIe lanes in use",
     [](const SampledGpu& gpu) { return Known(gpu.PcieWidth()); }},
    {"muster_gpu_pcie_max_width", "", "gauge", "PCIe lanes of card and slot together", &MostLanes},
    {"muster_gpu_nvlinks_up", "", "gauge", "NVLinks that are up", &Up},
    {"muster_gpu_nvlinks_missing", "", "gauge",
     "NVLinks to the machine's baseboard that are down while others are up", &Missing},
    {"muster_gpu_nvlink_errors_total", R"(kind="replay")", "counter", kLinkErrorsHelp,
     &LinkErrorsOf<nvml::kLinkReplay>},
    {"muster_gpu_nvlink_errors_total", R"(kind="recovery")", "counter", kLinkErrorsHelp,
     &LinkErrorsOf<nvml::kLinkRecovery>},
    {"muster_gpu_nvlink_errors_total", R"(kind="crc_flit")", "counter", kLinkErrorsHelp,
     &LinkErrorsOf<nvml::kLinkCrcFlit>},
    {"muster_gpu_nvlink_errors_total", R"(kind="crc_data")", "counter", kLinkErrorsHelp,
     &LinkErrorsOf<nvml::kLinkCrcData>},
    {"muster_gpu_fabric_trouble", R"(kind="not_ready")", "gauge", kFabricHelp,
     &Fabric<FabricTrouble::kNotReady>},
    {"muster_gpu_fabric_trouble", R"(kind="error")", "gauge", kFabricHelp,
     &Fabric<FabricTrouble::kError>},
    {"muster_gpu_fabric_trouble", R"(kind="unhealthy")", "gauge", kFabricHelp,
     &Fabric<FabricTrouble::kUnhealthy>},
};

bool IsAtLimitNow(const SampledGpu& gpu) {
  HeatReading reading = {};
  reading.celsius = Known(gpu.TemperatureCelsius());
  reading.memory_celsius = Known(gpu.MemoryTemperatureCelsius());
  reading.margin = Known(gpu.MarginCelsius());
  // ReadThermalLimits() leaves the least margin out for a GPU that is already below it, as is one
  // that works and is too hot.
  ThermalLimits limits = gpu.limits;
  limits.least_margin = Known(gpu.LeastMarginCelsius());
  return IsAtLimit(reading, limits);
}

// Whether the answer comes from a GPU that works: also the one that it does not tell this, or not
// to us. A dead one has several errors: lost, needs a reset, lacks power, unknown.
bool IsAnswer(const absl::Status& status) {
  return status.ok() || absl::IsUnimplemented(status) || absl::IsPermissionDenied(status);
}

GpuSample SampleOf(sys::FileSystem& files, const Nvml& nvml, unsigned index) {
  GpuSample sample;
  sample.index = index;
  sample.values.resize(std::size(kMetrics));
  const absl::StatusOr<nvml::Device> handle = nvml.DeviceAt(index);
  if (!handle.ok()) {
    sample.is_lost = !IsAnswer(handle.status());
    return sample;
  }
  SampledGpu gpu(nvml, *handle);
  sample.uuid = gpu.Uuid().value_or("");
  sample.model = gpu.Name().value_or("");
  sample.pci_address = gpu.PciAddress().value_or("");
  // Every GPU has a temperature: a call that tells whether it still answers.
  sample.is_lost = !IsAnswer(gpu.TemperatureCelsius().status());
  if (sample.is_lost) return sample;
  gpu.links = ReadLinks(gpu);
  gpu.fabric = gpu.Fabric();
  gpu.limits = ReadThermalLimits(gpu);
  gpu.is_at_limit = IsAtLimitNow(gpu);
  gpu.port = ReadPortAbove(files, PciFolder(sample.pci_address));
  for (size_t i = 0; i < sample.values.size(); ++i) sample.values[i] = kMetrics[i].read(gpu);
  return sample;
}

}  // namespace

absl::Span<const GpuMetric> GpuMetrics() { return kMetrics; }

NodeSample SampleGpus(sys::FileSystem& files, const std::string& library) {
  NodeSample sample;
  const absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Load(library);
  if (!nvml.ok()) {
    sample.why_not = std::string(nvml.status().message());
    return sample;
  }
  sample.driver_version = (*nvml)->DriverVersion().value_or("unknown");
  const unsigned count = (*nvml)->DeviceCount().value_or(0);
  for (unsigned i = 0; i < count; ++i) sample.gpus.push_back(SampleOf(files, **nvml, i));
  return sample;
}

}  // namespace muster::burnin
