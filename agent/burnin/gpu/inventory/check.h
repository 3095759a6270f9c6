// The check gpu-inventory.
#pragma once

#include "agent/burnin/check.h"

namespace muster::burnin {

CheckResult RunGpuInventory(CheckContext& context);

}  // namespace muster::burnin
