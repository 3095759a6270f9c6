// The ports by which a machine may boot from the network.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace muster::v1 {
class Facts;
}

namespace muster {

// No machine has as many ports.
inline constexpr size_t kMaxPciPorts = 64;

// The MAC addresses of the Ethernet ports on the PCI bus, in lower case with colons, each once, in
// the order of the facts and at most kMaxPciPorts. Without those on USB, of which BMCs show the
// machine some whose addresses are the same everywhere.
std::vector<std::string> PciEthernetMacs(const v1::Facts& facts);

}  // namespace muster
