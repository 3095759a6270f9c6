// The state of a node in Slurm's notation: "IDLE", "DOWN*+DRAIN", "MIXED+NOT_RESPONDING". Pure.
#pragma once

#include "absl/strings/string_view.h"

namespace muster {

// The user in whose name slurmctld itself drains nodes and takes them down: for too little memory,
// a prolog that failed, a slurmd that does not answer. Every other user does it on purpose.
inline constexpr absl::string_view kSlurmUser = "slurm";

// slurmctld does not reach the node's slurmd.
bool IsSilentInSlurm(absl::string_view state);
// The node is down, drained or not.
bool IsDownInSlurm(absl::string_view state);
// The node is drained or draining.
bool IsDrainedInSlurm(absl::string_view state);
// Slurm starts no job on the node, drained or not: it is down, failing, not known yet, or its
// slurmd registered with other hardware than slurm.conf says.
bool IsOutInSlurm(absl::string_view state);
// Slurm's power saving has powered the node down, or powers it down or up now: it comes when a job
// needs it.
bool IsPowerSavedInSlurm(absl::string_view state);
// The node is being powered up for a job that has been given to it.
bool IsPoweringUpForJobInSlurm(absl::string_view state);

}  // namespace muster
