// Nodes out of the inventory on disk and of the controller's.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/inventory_folder/inventory_change.h"

namespace muster::cli {

// Looks at the inventory at `path` and at the controller's; nothing to do where the one in force
// names none of the nodes. FailedPrecondition: the two differ already by more than these nodes, the
// rest needs one of the nodes, or the edit would change more. Otherwise as RemoveNodes().
absl::StatusOr<InventoryChange> PrepareRemoval(const Connection& connection,
                                               const std::string& path,
                                               const std::vector<std::string>& names);

}  // namespace muster::cli
