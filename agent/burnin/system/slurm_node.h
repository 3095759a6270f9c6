// The check `slurm-node`: Slurm's view of this node is right.
#pragma once

#include "agent/burnin/check.h"

namespace muster::burnin {

CheckResult RunSlurmNodeCheck(CheckContext& context);

}  // namespace muster::burnin
