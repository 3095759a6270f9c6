// New nodes in the inventory on disk and in the controller's.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/inventory_edit/add_nodes.h"
#include "cli/inventory_folder/inventory_change.h"

namespace muster::cli {

class Connection;

// The way of nodes into the inventory, before anything has changed.
struct InventoryAddition : InventoryChange {
  std::vector<std::string> present;  // nodes that the inventory in force has
  std::string like;                  // the node that the others are like; empty: not asked for
};

// Looks at the inventory at `path` and at the controller's. `addition.like` may be empty: a
// neighbor by its name is taken. FailedPrecondition: the two differ already, or the edit would
// change more than the new nodes and their memberships, or nodes are there with other attributes.
// Otherwise as AddNodes().
absl::StatusOr<InventoryAddition> PrepareAddition(const Connection& connection,
                                                  const std::string& path, NodeAddition addition);

}  // namespace muster::cli
