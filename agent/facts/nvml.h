// The few entry points of NVIDIA's management library that facts need, bound at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::agent {

struct NvmlDevice {
  std::string uuid, name, pci_address, serial, vbios_version;
  uint64_t memory_bytes = 0;
  double power_limit_watts = 0;  // that is enforced; 0: not told
  int minor_number = -1;         // of /dev/nvidia<N>; -1: not told
};

struct NvmlReport {
  std::string driver_version;
  std::vector<NvmlDevice> devices;
};

// Loads `library` by dlopen, asks for every device and unloads. NotFound: there is no such library.
// Consumer GPUs answer less (no serial): what is not told stays empty.
absl::StatusOr<NvmlReport> QueryNvml(const std::string& library);

}  // namespace muster::agent
