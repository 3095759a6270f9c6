// On which node slurmctld runs.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace muster::controller {
class Inventory;
}

namespace muster::controller::slurm {

// As the role slurm_controller of the playbooks has it: the inventory's variable slurm_controller,
// else the first login node. FailedPrecondition, with the remedy: there is no such node, or the
// variable is no name. Pure.
absl::StatusOr<std::string> SlurmctldNode(const Inventory& inventory);

}  // namespace muster::controller::slurm
