// The GPU checks, for the table of runners.cc. Each has a folder of its own.
#pragma once

#include "agent/burnin/check.h"

namespace muster::burnin {

CheckResult RunGpuInventory(CheckContext& context);
CheckResult RunGpuGemm(CheckContext& context);
CheckResult RunGpuMemory(CheckContext& context);
CheckResult RunGpuCopy(CheckContext& context);
CheckResult RunGpuCollective(CheckContext& context);
CheckResult RunGpuDcgm(CheckContext& context);

}  // namespace muster::burnin
