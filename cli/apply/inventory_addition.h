// New nodes in the inventory on disk and in the controller's, which stay the same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/inventory_edit/add_nodes.h"
#include "muster/v1/inventory.pb.h"

namespace muster::cli {

class Connection;

// The way of nodes into the inventory, before anything has changed.
struct InventoryAddition {
  std::vector<std::string> present;  // nodes that the inventory in force has
  std::string like;                  // the node that the others are like; empty: not asked for
  // By path as ReadInventoryFiles() names it; empty: the files have the nodes already.
  std::map<std::string, std::string> old_texts, new_texts;
  v1::ApplyInventoryRequest request;  // with the edited files
  std::vector<std::string> changes;   // what that changes; empty: there is nothing to do
};

// Looks at the inventory at `path` and at the controller's. `addition.like` may be empty: a
// neighbour by its name is taken. FailedPrecondition: the two differ already, or the edit would
// change more than the new nodes and their memberships, or nodes are there with other attributes.
// Otherwise as AddNodes().
absl::StatusOr<InventoryAddition> PrepareAddition(const Connection& connection,
                                                  const std::string& path, NodeAddition addition);

// Replaces the files at `path`, then applies them; returns the revision. A refusal of the
// controller leaves the files as they were.
absl::StatusOr<uint64_t> CarryOutAddition(const Connection& connection, const std::string& path,
                                          const InventoryAddition& addition);

}  // namespace muster::cli
