// The checks that put GPUs under load, for the table of runners.cc.
#pragma once

#include "agent/burnin/check.h"

namespace muster::burnin {

CheckResult RunGpuGemm(CheckContext& context);
CheckResult RunGpuMemory(CheckContext& context);
CheckResult RunGpuCopy(CheckContext& context);
CheckResult RunGpuCollective(CheckContext& context);

}  // namespace muster::burnin
