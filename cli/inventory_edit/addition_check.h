// Whether an edited inventory adds nodes and does nothing else. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/inventory_edit/add_nodes.h"

namespace muster::cli {

// `changes` are those of DiffInventoryResponse, `resolved_json` the inventory in force, of
// GetInventoryResponse. FailedPrecondition: the changes are more than the new nodes and their
// memberships, or less: with `addition.like` the nodes have to be in all racks, groups and
// partitions that it is in; without, their memberships are free.
absl::Status CheckAddition(const std::vector<std::string>& changes,
                           const std::string& resolved_json, const NodeAddition& addition);

}  // namespace muster::cli
