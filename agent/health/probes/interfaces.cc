#include "agent/health/probes/interfaces.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "agent/facts/sysfs.h"

namespace muster::agent::health {
namespace {

// if_arp.h's hardware types.
constexpr int64_t kEthernet = 1;
constexpr int64_t kInfiniband = 32;
constexpr size_t kMaxInterfaces = 32;

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

bool IsHardware(const std::string& root, const std::string& device) {
  if (Exists(device + "/device")) return true;
  if (!Exists(root + "/run/systemd/container")) return false;
  return !Exists(device + "/master") &&
         ReadNumber(device + "/iflink") != ReadNumber(device + "/ifindex");
}

std::vector<std::string> List(const std::string& root, bool with_infiniband) {
  std::vector<std::string> names;
  const std::string net = root + "/sys/class/net";
  for (const std::string& name : ListNames(net)) {
    const std::string device = absl::StrCat(net, "/", name);
    const int64_t type = ReadNumber(device + "/type").value_or(0);
    if (type != kEthernet && !(with_infiniband && type == kInfiniband)) continue;
    if (IsHardware(root, device)) names.push_back(name);
    if (names.size() == kMaxInterfaces) break;
  }
  return names;
}

}  // namespace

std::vector<std::string> EthernetInterfaces(const std::string& root) { return List(root, false); }

std::vector<std::string> HardwareInterfaces(const std::string& root) { return List(root, true); }

}  // namespace muster::agent::health
