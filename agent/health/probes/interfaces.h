// The network interfaces of a node that are worth watching.
#pragma once

#include <string>
#include <vector>

namespace muster::agent::health {

// Names, sorted, of the first 32 interfaces that stand for hardware: Ethernet alone, or with the
// interfaces of InfiniBand. In a container they are the ends of pairs that stand for hardware.
// `root` is put before every path.
std::vector<std::string> EthernetInterfaces(const std::string& root);
std::vector<std::string> HardwareInterfaces(const std::string& root);

}  // namespace muster::agent::health
