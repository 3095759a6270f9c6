// The few entry points of NVIDIA's management library that facts need, bound at run time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::agent {

struct NvmlDevice {
  unsigned index = 0;  // NVML's, which counts those that do not answer, too
  std::string uuid, name, pci_address, serial, vbios_version;
  uint64_t memory_bytes = 0;
  double power_limit_watts = 0;  // the enforced one; 0: not reported
  int minor_number = -1;         // of /dev/nvidia<N>; -1: not reported
};

struct NvmlReport {
  std::string driver_version;
  std::vector<NvmlDevice> devices;
  std::map<unsigned, std::string> lost;  // why a device does not answer, by its index
};

// Loads `library` by dlopen, queries every device and unloads it. NotFound: there is no such
// library. One that fell off the bus does not cost the others their report; where none answers, an
// error is returned. Consumer GPUs report less (no serial): missing values stay empty.
absl::StatusOr<NvmlReport> QueryNvml(const std::string& library);

}  // namespace muster::agent
