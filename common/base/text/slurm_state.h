// The state of a node in Slurm's notation: "IDLE", "DOWN*+DRAIN", "MIXED+NOT_RESPONDING". Pure.
#pragma once

#include "absl/strings/string_view.h"

namespace muster {

// slurmctld does not reach the node's slurmd.
bool IsSilentInSlurm(absl::string_view state);
// The node is down, drained or not.
bool IsDownInSlurm(absl::string_view state);

}  // namespace muster
