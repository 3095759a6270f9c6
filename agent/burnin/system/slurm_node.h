// The check `slurm-node`: that Slurm sees this node as it is.
#pragma once

#include "agent/burnin/check.h"

namespace muster::burnin {

CheckResult RunSlurmNodeCheck(CheckContext& context);

}  // namespace muster::burnin
