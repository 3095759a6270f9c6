// GPUs, as reported by the driver's management library.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/facts/nvml.h"
#include "agent/facts/probe.h"
#include "agent/facts/processor_topology.h"
#include "agent/facts/slurm_gpu_type.h"
#include "agent/facts/sysfs.h"
#include "common/base/status.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

// PCI base class 03: display controllers. NVSwitches and audio functions have other classes.
bool HasNvidiaGpu(const ProbeContext& context) {
  v1::Facts facts;
  if (!ProbePci(context, facts).ok()) return false;
  for (const v1::PciDeviceFacts& device : facts.pci_devices())
    if (device.vendor_id() == "10de" && absl::StartsWith(device.class_code(), "03")) return true;
  return false;
}

// What the topology does not tell stays unknown: jobs then run on any cores.
void AddLocalCores(const ProbeContext& context, v1::Facts& facts) {
  absl::StatusOr<ProcessorTopology> topology = absl::UnknownError("not loaded");
  for (v1::GpuFacts& gpu : *facts.mutable_gpus()) {
    const std::optional<std::string> cpus = ReadValue(
        absl::StrCat(context.root, "/sys/bus/pci/devices/", gpu.pci_address(), "/local_cpulist"));
    if (!cpus.has_value()) continue;
    if (!topology.ok()) topology = LoadProcessorTopology();
    if (!topology.ok()) return;
    for (const CoreRange& cores : CoresOf(topology->get(), *cpus)) {
      v1::CoreRange& range = *gpu.add_local_cores();
      range.set_first(cores.first);
      range.set_last(cores.last);
    }
  }
}

}  // namespace

absl::Status ProbeGpus(const ProbeContext& context, v1::Facts& facts) {
  const absl::StatusOr<NvmlReport> report = QueryNvml(context.nvml_library);
  if (absl::IsNotFound(report.status()) && !HasNvidiaGpu(context))
    return absl::OkStatus();  // no driver and nothing to drive: certainly no GPUs
  RETURN_IF_ERROR(report.status());
  facts.set_nvidia_driver_version(report->driver_version);
  // The node has fewer than it had, by which it is known to be not whole; here stands why.
  for (const auto& [index, why] : report->lost) {
    v1::UnknownFact& unknown = *facts.add_unknown();
    unknown.set_probe(absl::StrCat("gpu-", index));
    unknown.set_reason(why);
  }
  for (const NvmlDevice& device : report->devices) {
    v1::GpuFacts& gpu = *facts.add_gpus();
    gpu.set_index(device.index);
    gpu.set_uuid(device.uuid);
    gpu.set_name(device.name);
    gpu.set_slurm_type(SlurmGpuType(device.name));
    gpu.set_memory_mib(device.memory_bytes >> 20);
    gpu.set_pci_address(device.pci_address);
    gpu.set_serial(device.serial);
    gpu.set_vbios_version(device.vbios_version);
    gpu.set_power_limit_watts(device.power_limit_watts);
    if (device.minor_number >= 0)
      gpu.set_device_path(absl::StrCat("/dev/nvidia", device.minor_number));
  }
  AddLocalCores(context, facts);
  return absl::OkStatus();
}

}  // namespace muster::agent
