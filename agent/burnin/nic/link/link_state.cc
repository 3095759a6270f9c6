#include "agent/burnin/nic/link/link_state.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/burnin/container.h"
#include "agent/burnin/sysfs/sysfs.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

constexpr absl::string_view kNet = "/sys/class/net";
// if_arp.h's hardware types.
constexpr int64_t kEthernet = 1;
constexpr int64_t kInfiniband = 32;
// The counters of statistics/ that report errors, and those that count traffic.
constexpr absl::string_view kReadCounters[] = {
    "rx_bytes",       "tx_bytes",       "rx_errors",       "tx_errors",         "rx_dropped",
    "tx_dropped",     "rx_crc_errors",  "rx_frame_errors", "rx_missed_errors",  "rx_fifo_errors",
    "rx_over_errors", "tx_fifo_errors", "collisions",      "tx_carrier_errors",
};

std::optional<int64_t> ReadNumber(sys::FileSystem& files, const std::string& path) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(ReadText(files, path), &number)) return std::nullopt;
  return number;
}

std::string LinkName(sys::FileSystem& files, const std::string& path) {
  const absl::StatusOr<std::string> target = files.ReadLink(path);
  return target.ok() ? target->substr(target->rfind('/') + 1) : "";
}

bool IsCard(sys::FileSystem& files, absl::string_view name) {
  return files.ReadLink(absl::StrCat(kNet, "/", name, "/device")).ok();
}

struct FreeInterfaces {
  void operator()(ifaddrs* list) const { freeifaddrs(list); }
};
using InterfaceList = std::unique_ptr<ifaddrs, FreeInterfaces>;

InterfaceList AllAddresses() {
  ifaddrs* list = nullptr;
  return InterfaceList(getifaddrs(&list) == 0 ? list : nullptr);
}

std::string AddressText(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address == nullptr) return "";
  if (address->sa_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  if (address->sa_family == AF_INET6) {
    const in6_addr& in6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (!IN6_IS_ADDR_LINKLOCAL(&in6)) inet_ntop(AF_INET6, &in6, text, sizeof text);
  }
  return text;
}

}  // namespace

bool IsLinkDown(sys::FileSystem& files, absl::string_view name) {
  const std::string folder = absl::StrCat(kNet, "/", name);
  const std::string operstate = ReadText(files, folder + "/operstate");
  return operstate.empty() || operstate == "down" || operstate == "lowerlayerdown" ||
         ReadNumber(files, folder + "/carrier") == 0;
}

absl::StatusOr<LinkState> ReadLinkState(sys::FileSystem& files, absl::string_view name) {
  if (name.empty() || name.size() >= IFNAMSIZ || absl::StrContains(name, "/") || name == "." ||
      name == "..")
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' is not the name of an interface"));
  const std::string folder = absl::StrCat(kNet, "/", name);
  if (!files.Read(folder + "/operstate", kPage).ok())
    return absl::NotFoundError(absl::StrCat("no interface ", name));
  LinkState state;
  state.name = std::string(name);
  state.mac = ReadText(files, folder + "/address");
  state.operstate = ReadText(files, folder + "/operstate");
  // Both cannot be read while the interface is down.
  if (const auto carrier = ReadNumber(files, folder + "/carrier")) state.carrier = *carrier != 0;
  if (const auto speed = ReadNumber(files, folder + "/speed"); speed && *speed > 0)
    state.speed_mbits = speed;
  state.duplex = ReadText(files, folder + "/duplex");
  state.mtu = ReadNumber(files, folder + "/mtu");
  state.carrier_changes = ReadNumber(files, folder + "/carrier_changes");
  for (const absl::string_view counter : kReadCounters)
    if (const auto value = ReadNumber(files, absl::StrCat(folder, "/statistics/", counter)))
      state.counters[std::string(counter)] = *value;
  const std::string device = folder + "/device";
  state.driver = LinkName(files, device + "/driver");
  if (LinkName(files, device + "/subsystem") == "pci") {
    state.pci_address = LinkName(files, device);
    state.pcie = ReadPcieLink(files, device, "current");
    state.pcie_possible = ReadPcieLink(files, device, "max");
    // A card of 16 lanes in a slot of 8 is not at fault.
    const std::optional<PcieLink> port = ReadPortAbove(files, device);
    if (state.pcie_possible && port) state.pcie_possible = InSlot(*state.pcie_possible, *port);
  }
  return state;
}

absl::StatusOr<std::vector<std::string>> PhysicalInterfaces(sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(std::string(kNet)));
  // There are no cards in a container, since they belong to the host.
  const bool in_container = InContainer(files);
  std::vector<std::string> physical;
  for (const std::string& name : names) {
    const std::string folder = absl::StrCat(kNet, "/", name);
    const int64_t type = ReadNumber(files, folder + "/type").value_or(0);
    if (type != kEthernet && type != kInfiniband) continue;
    const bool given = in_container && !files.ReadLink(folder + "/master").ok() &&
                       !files.List(folder + "/bridge").ok();
    const bool usb = LinkName(files, folder + "/device/subsystem") == "usb";
    if (given || (files.ReadLink(folder + "/device").ok() && !usb)) physical.push_back(name);
  }
  return physical;
}

std::vector<std::string> CardsBelow(sys::FileSystem& files, absl::string_view name) {
  constexpr absl::string_view kLower = "lower_";
  std::vector<std::string> cards;
  std::set<std::string> seen = {std::string(name)};
  std::vector<std::string> open(seen.begin(), seen.end());
  while (!open.empty()) {
    const std::string folder = absl::StrCat(kNet, "/", open.back());
    open.pop_back();
    const absl::StatusOr<std::vector<std::string>> entries = files.List(folder);
    if (!entries.ok()) continue;
    for (const std::string& entry : *entries) {
      if (!absl::StartsWith(entry, kLower)) continue;
      const std::string lower = entry.substr(kLower.size());
      if (!seen.insert(lower).second) continue;
      // Ports of containers and virtual machines on a bridge have none.
      if (IsCard(files, lower)) cards.push_back(lower);
      open.push_back(lower);
    }
  }
  std::sort(cards.begin(), cards.end());
  return cards;
}

bool HasCard(sys::FileSystem& files, absl::string_view name) {
  return IsCard(files, name) || !CardsBelow(files, name).empty();
}

std::string InterfaceOfAddress(absl::string_view address) {
  const InterfaceList list = AllAddresses();
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next)
    if (!address.empty() && AddressText(entry->ifa_addr) == address) return entry->ifa_name;
  return "";
}

absl::StatusOr<std::string> AddressOfInterface(absl::string_view name) {
  const InterfaceList list = AllAddresses();
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_name != name || entry->ifa_addr == nullptr ||
          entry->ifa_addr->sa_family != family)
        continue;
      if (std::string text = AddressText(entry->ifa_addr); !text.empty()) return text;
    }
  }
  return absl::NotFoundError(absl::StrCat("interface ", name, " has no address"));
}

Subject NicSubject(const LinkState& state) {
  Subject subject{
      .id = state.name, .kind = "nic", .model = state.driver, .slot = state.pci_address};
  subject.attributes["mac"] = state.mac;
  if (state.speed_mbits) subject.attributes["speed_mbits"] = absl::StrCat(*state.speed_mbits);
  if (state.mtu) subject.attributes["mtu"] = absl::StrCat(*state.mtu);
  return subject;
}

}  // namespace muster::burnin
