// Network interfaces.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/facts/nic_addresses.h"
#include "agent/facts/probe.h"
#include "agent/facts/sysfs.h"
#include "common/base/status.h"
#include "common/sys/unique_fd.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

// if_arp.h's hardware types.
constexpr int64_t kEthernet = 1;
constexpr int64_t kInfiniband = 32;

int PrefixLength(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  int bits = 0;
  if (mask->sa_family == AF_INET) {
    bits = std::popcount(reinterpret_cast<const sockaddr_in*>(mask)->sin_addr.s_addr);
  } else if (mask->sa_family == AF_INET6) {
    for (const uint8_t byte : reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr.s6_addr)
      bits += std::popcount(byte);
  }
  return bits;
}

// Interface → "address/prefix"; link-local addresses are left out.
absl::StatusOr<std::map<std::string, std::vector<std::string>>> Addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return ErrnoStatus(errno, "getifaddrs");
  std::map<std::string, std::vector<std::string>> addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    char text[INET6_ADDRSTRLEN] = "";
    if (entry->ifa_addr->sa_family == AF_INET) {
      inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(entry->ifa_addr)->sin_addr, text,
                sizeof text);
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      const in6_addr& address = reinterpret_cast<sockaddr_in6*>(entry->ifa_addr)->sin6_addr;
      if (IN6_IS_ADDR_LINKLOCAL(&address)) continue;
      inet_ntop(AF_INET6, &address, text, sizeof text);
    } else {
      continue;
    }
    addresses[entry->ifa_name].push_back(absl::StrCat(text, "/", PrefixLength(entry->ifa_netmask)));
  }
  freeifaddrs(list);
  return addresses;
}

// What `ethtool -i` prints as firmware-version: "" where the driver does not say.
std::string FirmwareOf(const sys::UniqueFd& socket, const std::string& name) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  ifreq request{};
  if (name.size() >= sizeof request.ifr_name) return "";
  name.copy(request.ifr_name, name.size());
  request.ifr_data = reinterpret_cast<char*>(&info);
  if (ioctl(socket.get(), SIOCETHTOOL, &request) != 0) return "";
  const std::string firmware(info.fw_version, strnlen(info.fw_version, sizeof info.fw_version));
  return firmware == "N/A" ? "" : firmware;
}

// The active ports of the RDMA devices whose link is InfiniBand's, not Ethernet's.
uint32_t InfinibandPorts(const std::string& root) {
  uint32_t active = 0;
  const std::string devices = root + "/sys/class/infiniband";
  for (const std::string& device : ListNames(devices)) {
    const std::string ports = absl::StrCat(devices, "/", device, "/ports");
    for (const std::string& port : ListNames(ports)) {
      const std::string folder = absl::StrCat(ports, "/", port);
      if (ReadValue(folder + "/link_layer").value_or("") == "InfiniBand" &&
          absl::StartsWith(ReadValue(folder + "/state").value_or(""), "4:"))  // "4: ACTIVE"
        ++active;
    }
  }
  return active;
}

}  // namespace

absl::Status ProbeNics(const ProbeContext& context, v1::Facts& facts) {
  ASSIGN_OR_RETURN(const auto addresses, Addresses());
  const std::string net = context.root + "/sys/class/net";
  const sys::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const std::string& name : ListNames(net)) {
    const std::string device = absl::StrCat(net, "/", name);
    const int64_t type = ReadNumber(device + "/type").value_or(0);
    if (type != kEthernet && type != kInfiniband) continue;  // loopback, tunnels
    v1::NicFacts& nic = *facts.add_nics();
    nic.set_name(name);
    nic.set_kind(type == kInfiniband ? "infiniband" : "ethernet");
    nic.set_mac(ReadValue(device + "/address").value_or(""));
    nic.set_mtu(static_cast<uint32_t>(ReadNumber(device + "/mtu").value_or(0)));
    nic.set_up(ReadValue(device + "/operstate").value_or("") == "up");
    if (const int64_t speed = ReadNumber(device + "/speed").value_or(-1); speed > 0)
      nic.set_speed_mbits_per_s(static_cast<uint32_t>(speed));
    nic.set_driver(LinkName(device + "/device/driver"));
    if (LinkName(device + "/device/subsystem") == "pci") {
      nic.set_pci_address(LinkName(device + "/device"));
      nic.set_firmware(FirmwareOf(socket, name));
    }
    if (const auto it = addresses.find(name); it != addresses.end())
      for (const std::string& address : it->second) nic.add_addresses(address);
  }
  facts.set_infiniband_ports(InfinibandPorts(context.root));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> EthernetAddresses(const ProbeContext& context) {
  v1::Facts facts;
  RETURN_IF_ERROR(ProbeNics(context, facts));
  std::vector<std::string> addresses;
  for (const v1::NicFacts& nic : facts.nics()) {
    if (nic.kind() == "ethernet" && !nic.mac().empty()) addresses.push_back(nic.mac());
  }
  return addresses;
}

}  // namespace muster::agent
