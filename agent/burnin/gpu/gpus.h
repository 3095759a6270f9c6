// The GPUs of a node that a check works on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/burnin/check.h"
#include "agent/burnin/gpu/clock_watch.h"
#include "agent/burnin/gpu/driver/nvml.h"
#include "agent/burnin/gpu/heat_watch.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

struct Gpu {
  unsigned index = 0;  // as NVML counts
  std::string uuid;    // id of its Subject
  std::string name;
  std::string pci_address;  // "0000:3b:00.0": for CudaDriver::DeviceByPciAddress()
  NvmlDevice nvml;
  std::optional<HeatLimit> heat_limit = {};  // the driver's; nullopt: it reports none
  ThermalLimits thermal_limits = {};
  ClockLimits clock_limits = {};
};

struct Gpus {
  std::shared_ptr<const Nvml> nvml;  // must outlive Gpu::nvml
  std::string driver_version;
  unsigned count = 0;  // GPUs that the driver has, chosen or not
  std::vector<Gpu> chosen;
};

// Finds the GPUs that the parameter "gpus" names, adds their subjects to `result`, and a fault for
// each GPU that is lost and for a driver that does not answer. The error is the reason why nothing
// can be tested: no library, no driver, no GPU, one of them is in MIG mode or prohibited for
// programs, or is, or may be, at work for somebody else, unless context.force is set. An idle
// display, the MIG mode and the compute mode are attributes of the subject.
absl::StatusOr<Gpus> OpenGpus(CheckContext& context, CheckResult& result);

// The same, regardless of others' work: for checks that only read. It is not an error here if the
// driver sees no GPU.
absl::StatusOr<Gpus> OpenGpusToRead(CheckContext& context, CheckResult& result);

}  // namespace muster::burnin
