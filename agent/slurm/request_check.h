// Checks that a request of the controller to Slurm is permissible.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/slurm.pb.h"

namespace muster::agent {

// InvalidArgument: an invalid name, a reason that is not Muster's, too many nodes or jobs, no
// request. A request that passes can be written into arguments of Slurm's programs as it is. Pure.
absl::Status CheckSlurmRequest(const v1::SlurmRequest& request);

}  // namespace muster::agent
