// RDMA devices, from /sys/class/infiniband.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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
  std::map<std::string, int64_t> errors;  // error counters, since the device exists
};

// Sorted by device and port; empty if there are none.
std::vector<RdmaPort> RdmaPorts(sys::FileSystem& files);
// Whether it is active now.
bool IsActive(sys::FileSystem& files, const RdmaPort& port);

}  // namespace muster::burnin
