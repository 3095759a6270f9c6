// The GPUs of a node that a check is for.
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
  std::optional<HeatLimit> heat_limit = {};  // the driver's; nullopt: it tells of none
  ClockLimits clock_limits = {};
};

struct Gpus {
  std::shared_ptr<const Nvml> nvml;  // what Gpu::nvml stands on
  std::string driver_version;
  unsigned count = 0;  // that the driver has, chosen or not
  std::vector<Gpu> chosen;
};

// Finds the GPUs that the parameter "gpus" means, adds their subjects to `result`, and a fault for
// each one that is lost and for a driver that does not answer. The error is the reason why nothing
// can be tested: no library, no driver, no GPU, or one of them is, or may be, at work for somebody
// else, unless context.force. A display that rests is an attribute of the subject.
absl::StatusOr<Gpus> OpenGpus(CheckContext& context, CheckResult& result);

// As above without a word on others' work: for checks that only read. That the driver sees no GPU
// is no error here.
absl::StatusOr<Gpus> OpenGpusToRead(CheckContext& context, CheckResult& result);

}  // namespace muster::burnin
