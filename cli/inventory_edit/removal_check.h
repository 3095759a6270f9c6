// Whether nodes may leave the inventory, and whether an edited one drops them and does nothing
// else. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace muster::cli {

// `resolved_json` is the inventory in force, of GetInventoryResponse. FailedPrecondition: one of
// the nodes is what the rest needs: the node of slurmctld, the last login node, or one that a
// variable names.
absl::Status CheckRemovable(const std::string& resolved_json,
                            const std::vector<std::string>& names);

// Likewise for machines that are exchanged under the same name. FailedPrecondition: one of them is
// no worker.
absl::Status CheckReplaceable(const std::string& resolved_json,
                              const std::vector<std::string>& names);

// `changes` are those of DiffInventoryResponse. FailedPrecondition: they are more than that these
// nodes leave, with their memberships, or less.
absl::Status CheckRemoval(const std::vector<std::string>& changes,
                          const std::vector<std::string>& names);

}  // namespace muster::cli
