// Whether what the controller wants of Slurm is something that it may want.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/slurm.pb.h"

namespace muster::agent {

// InvalidArgument: a name that is none, a reason that is not Muster's, too many nodes, no request.
// What passes can be written into arguments of Slurm's programs as it is. Pure.
absl::Status CheckSlurmRequest(const v1::SlurmRequest& request);

}  // namespace muster::agent
