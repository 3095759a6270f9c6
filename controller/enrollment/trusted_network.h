// Whether a machine counts as a node by its MAC address alone, in a network that the inventory
// trusts. A MAC address proves nothing to whoever can send any frame; it does where only
// administrators can, and where root of the machine asks, as all of its users have its address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/text/ip_network.h"

namespace muster::controller {

// How long after the start of its boot a machine may join by its MAC address. A large image
// that a thousand machines fetch at once takes minutes.
inline constexpr absl::Duration kTrustedBootWindow = absl::Minutes(15);

// What is known of a machine that asks to join as a node.
struct NetworkEvidence {
  std::string address;                      // "10.0.0.7"
  std::optional<uint16_t> port;             // that the machine asks from
  std::string neighbor_mac;                 // which has this address; "": not a neighbor
  std::optional<absl::Time> boot_began_at;  // the newest of the node, by its MAC address
  bool is_connected = false;                // a machine is connected as the node now
  bool has_tpm_on_record = false;           // the machine that is the node now has joined by a TPM
};

// Why the machine does not count as the node that has `macs`; "": it does. nullopt: the network is
// not trusted, so that nobody expects it to.
std::optional<std::string> WhyNotByNetwork(const std::vector<IpNetwork>& trusted,
                                           const std::vector<std::string>& macs,
                                           const NetworkEvidence& evidence, absl::Time now);

// The MAC address of an IPv4 neighbor, by the kernel's table (/proc/net/arp, proc(5)), in lower
// case; "": none, or not a complete one.
std::string NeighborMac(absl::string_view arp_table, absl::string_view address);

}  // namespace muster::controller
