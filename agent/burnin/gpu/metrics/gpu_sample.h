// What the GPUs of a node report at one moment, for monitoring.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "agent/burnin/gpu/driver/nvml.h"
#include "agent/burnin/gpu/heat_watch.h"
#include "agent/burnin/sysfs/pcie_link.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::burnin {

// A GPU that is sampled, with what several figures are made from.
struct SampledGpu : NvmlDevice {
  using NvmlDevice::NvmlDevice;
  absl::StatusOr<std::vector<bool>> links;  // whether each is up
  absl::StatusOr<nvml::FabricInfo> fabric;
  ThermalLimits limits;
  bool is_at_limit = false;      // IsAtLimit()
  std::optional<PcieLink> port;  // what the port above it can do
};

// A figure of one GPU, in Prometheus' base units.
struct GpuMetric {
  const char* name;    // rows of one name stand together
  const char* labels;  // of this row alone: `kind="corrected"`; "": none
  const char* type;    // gauge or counter
  const char* help;
  // nullopt: the GPU does not report it.
  std::optional<double> (*read)(const SampledGpu& gpu);
};
absl::Span<const GpuMetric> GpuMetrics();

struct GpuSample {
  unsigned index = 0;  // as NVML counts
  std::string uuid, model, pci_address;
  bool is_lost = false;                       // it does not answer
  std::vector<std::optional<double>> values;  // of GpuMetrics(), in their order
};

struct NodeSample {
  std::string driver_version;  // "": the driver does not answer
  std::string why_not;         // then; with the remedy where it is known
  std::vector<GpuSample> gpus;
};

// Blocks as long as NVML does, which may be for ever on a sick GPU.
NodeSample SampleGpus(sys::FileSystem& files, const std::string& library = kNvmlLibrary);

}  // namespace muster::burnin
