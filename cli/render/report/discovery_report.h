// Machines that no inventory has and that tell of themselves, for people. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/node_change/adoption.h"

namespace muster::v1 {
class ListUnknownMachinesResponse;
}

namespace muster::cli {

// In the order in which they were switched on.
std::string RenderDiscovered(const v1::ListUnknownMachinesResponse& response);

// Which machine is to become which node, with the address that its MAC address is to get, of those
// in `addresses` by name, and the ports that become the node's by the machine's own word. Below
// them the ports that do not, because another machine has them, too.
std::string RenderAdoptions(const std::vector<Adoption>& adoptions,
                            const std::map<std::string, std::string>& addresses);

}  // namespace muster::cli
