// The network checks; runners.cc has them in its table. Each has a file of its own.
#pragma once

#include "agent/burnin/check.h"

namespace muster::burnin {

CheckResult RunNicPair(CheckContext& context);
CheckResult RunNicLink(CheckContext& context);
CheckResult RunCollective(CheckContext& context);
CheckResult RunRdmaPair(CheckContext& context);

}  // namespace muster::burnin
