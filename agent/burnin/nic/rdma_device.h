// RDMA devices, from /sys/class/infiniband.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::burnin {

// One port of a device.
struct RdmaPort {
  std::string device;  // "mlx5_0"
  int port = 1;
  bool active = false;
  std::string rate;                       // "100 Gb/sec (4X EDR)"
  std::string link_layer;                 // "InfiniBand", "Ethernet"
  std::map<std::string, int64_t> errors;  // counters of what goes wrong, since the device is there
};

// Sorted by device and port; empty where there are none.
std::vector<RdmaPort> RdmaPorts(sys::FileSystem& files);
// The port that is to be tested: of `device`, or of any where it is "", the first that is active.
// NotFound: no such device. FailedPrecondition: its ports are all down.
absl::StatusOr<RdmaPort> ChooseRdmaPort(const std::vector<RdmaPort>& ports,
                                        absl::string_view device);

}  // namespace muster::burnin
