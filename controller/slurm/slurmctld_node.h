// Finds the nodes on which slurmctld runs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::controller {
class Inventory;
}

namespace muster::controller::slurm {

// Whether the inventory has a place for slurmctld: a login node, or a variable slurm_controller.
// Without one the cluster has no Slurm. Pure.
bool HasPlaceForSlurmctld(const Inventory& inventory);

// The same nodes as the playbooks' role slurm_controller chooses: first that of the inventory's
// variable slurm_controller, else the first login node; then those of slurm_backup_controllers.
// FailedPrecondition, with the remedy: there is no such node, or a variable is not a name. Pure.
absl::StatusOr<std::vector<std::string>> SlurmctldNodes(const Inventory& inventory);

}  // namespace muster::controller::slurm
