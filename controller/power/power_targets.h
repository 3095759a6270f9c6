// What the inventory says about the machines whose power is to be changed. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/inventory/bmc_access.h"
#include "controller/power/power_pace.h"

namespace muster::controller {
class Inventory;
struct Node;
}  // namespace muster::controller

namespace muster::controller::power {

// The least time between two machines of a rack that are switched on, whatever reboot_gap says.
inline constexpr absl::Duration kLeastGap = absl::Seconds(1);

struct PowerTarget {
  std::string node;
  absl::StatusOr<BmcAccess> access;  // or what the inventory lacks
  PowerNeed need;
};

// `is_up`: whether the agent of the node of this name is connected, so that the machine is on.
std::vector<PowerTarget> TargetsOf(const Inventory& inventory,
                                   const std::vector<const Node*>& nodes,
                                   const std::function<bool(const std::string&)>& is_up);

}  // namespace muster::controller::power
