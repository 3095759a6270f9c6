// The graphics cards that the kernel sees, whether or not a driver knows them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::burnin {

// The folder of a device in /sys, by its address on the PCI bus.
std::string PciFolder(absl::string_view address);

// Addresses of NVIDIA's display controllers on the PCI bus, sorted: "0000:3b:00.0". An error: the
// machine has no such bus.
absl::StatusOr<std::vector<std::string>> GpuSlots(sys::FileSystem& files);

// The reason why there is nothing to test if the driver answers but has no GPU; names the slots.
std::string SeesNoGpu(sys::FileSystem& files);

}  // namespace muster::burnin
