// The machine that musterd runs on, which must not lose its power by an order of its own: nothing
// would be left to switch it on again, nor others that were switched off with it. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::controller {
class Inventory;
struct Node;
struct NodeRecord;
}  // namespace muster::controller

namespace muster::controller::power {

// What tells which node it is. The boot is that of the kernel, so containers of one machine that
// share the kernel's have it, too.
struct OwnMachine {
  std::string boot_id;          // of its present boot, with or without hyphens; "": unknown
  std::set<std::string> names;  // as OwnNames() returns them
};

// By which the inventory may name the machine: its host name ("" where it is unknown), in full and
// up to the first dot, and the host of the controller's address.
std::set<std::string> OwnNames(absl::string_view host_name, absl::string_view controller_host);

// Whether the node of the inventory is that machine: its name or address is one of the names; or,
// where those are no node's, its agent has reported this boot (`boot_id`). That is the node's own
// word, so it counts only where nothing else tells: root of a worker could say it, too.
bool IsOnOwnMachine(const OwnMachine& own, const Inventory& inventory, const Node& node,
                    absl::string_view boot_id);

// FailedPrecondition, with the remedy: one of the nodes is that machine. `joined` are the records
// of the store.
absl::Status CheckNotOwnMachine(const OwnMachine& own, const Inventory& inventory,
                                const std::vector<const Node*>& nodes,
                                const std::vector<NodeRecord>& joined);

}  // namespace muster::controller::power
