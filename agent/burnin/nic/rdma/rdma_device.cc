#include "agent/burnin/nic/rdma/rdma_device.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/burnin/sysfs/sysfs.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

constexpr absl::string_view kDevices = "/sys/class/infiniband";
constexpr absl::string_view kErrors[] = {"symbol_error", "link_error_recovery", "link_downed",
                                         "port_rcv_errors", "port_xmit_discards"};

std::string FolderOf(absl::string_view device, int port) {
  return absl::StrCat(kDevices, "/", device, "/ports/", port);
}

// "4: ACTIVE"
bool IsActiveIn(sys::FileSystem& files, const std::string& folder) {
  return absl::StartsWith(ReadText(files, folder + "/state"), "4:");
}

RdmaPort ReadPort(sys::FileSystem& files, const std::string& device, int port) {
  const std::string folder = FolderOf(device, port);
  RdmaPort found{.device = device,
                 .port = port,
                 .active = IsActiveIn(files, folder),
                 .rate = ReadText(files, folder + "/rate"),
                 .link_layer = ReadText(files, folder + "/link_layer")};
  for (const absl::string_view name : kErrors) {
    int64_t value = 0;
    if (absl::SimpleAtoi(ReadText(files, absl::StrCat(folder, "/counters/", name)), &value))
      found.errors[std::string(name)] = value;
  }
  return found;
}

}  // namespace

std::vector<RdmaPort> RdmaPorts(sys::FileSystem& files) {
  std::vector<RdmaPort> ports;
  const absl::StatusOr<std::vector<std::string>> devices = files.List(std::string(kDevices));
  if (!devices.ok()) return ports;
  for (const std::string& device : *devices) {
    const absl::StatusOr<std::vector<std::string>> numbers =
        files.List(absl::StrCat(kDevices, "/", device, "/ports"));
    if (!numbers.ok()) continue;
    for (const std::string& number : *numbers)
      if (int port = 0; absl::SimpleAtoi(number, &port))
        ports.push_back(ReadPort(files, device, port));
  }
  return ports;
}

bool IsActive(sys::FileSystem& files, const RdmaPort& port) {
  return IsActiveIn(files, FolderOf(port.device, port.port));
}

}  // namespace muster::burnin
