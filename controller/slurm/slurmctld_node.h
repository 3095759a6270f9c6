// Finds the node on which slurmctld runs.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace muster::controller {
class Inventory;
}

namespace muster::controller::slurm {

// The same node as the playbooks' role slurm_controller chooses: the inventory's variable
// slurm_controller, else the first login node. FailedPrecondition, with the remedy: there is no
// such node, or the variable is not a name. Pure.
absl::StatusOr<std::string> SlurmctldNode(const Inventory& inventory);

}  // namespace muster::controller::slurm
