// The kernel's view of a network interface, from sysfs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/result.h"
#include "agent/burnin/sysfs/pcie_link.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::burnin {

// nullopt and "" stand for values that the kernel does not report: a device that is down has no
// speed, a virtual one no PCI slot.
struct LinkState {
  std::string name;
  std::string mac;
  std::string driver;
  std::string pci_address;
  std::string operstate;  // "up", "down", "unknown"
  std::optional<bool> carrier;
  std::optional<int64_t> speed_mbits;
  std::string duplex;  // "full", "half"
  std::optional<int64_t> mtu;
  std::optional<int64_t> carrier_changes;   // since the interface exists
  std::map<std::string, int64_t> counters;  // statistics/, since the interface exists
  std::optional<PcieLink> pcie;
  // The best that the device and the port above it both support.
  std::optional<PcieLink> pcie_possible;
};

// Whether an interface has no link now: it is down, has no carrier, or is gone. Reads two files.
bool IsLinkDown(sys::FileSystem& files, absl::string_view name);

// NotFound: there is no such interface. InvalidArgument: not the name of an interface.
absl::StatusOr<LinkState> ReadLinkState(sys::FileSystem& files, absl::string_view name);
// The interfaces that are hardware: they have a device behind them and are Ethernet or InfiniBand.
// Not those on USB, such as the one to the management controller: they are no part of the network.
// In a container, those that it was given: not a bridge, and not in one.
absl::StatusOr<std::vector<std::string>> PhysicalInterfaces(sys::FileSystem& files);
// The cards that carry an interface of software, such as a VLAN, a bond or a bridge, at any depth;
// empty for a card itself.
std::vector<std::string> CardsBelow(sys::FileSystem& files, absl::string_view name);
// Whether packets of the interface leave by a card: it is one, or has cards below it.
bool HasCard(sys::FileSystem& files, absl::string_view name);
// The interface that has an address, "" if none has it.
std::string InterfaceOfAddress(absl::string_view address);
// The first address of an interface, IPv4 before IPv6, but no link-local one. NotFound.
absl::StatusOr<std::string> AddressOfInterface(absl::string_view name);

// A subject of kind "nic".
Subject NicSubject(const LinkState& state);

}  // namespace muster::burnin
