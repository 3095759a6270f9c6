// The check `clock`: how far this machine's clock is off, as chrony sees it.
#pragma once

#include "agent/burnin/check.h"
#include "common/health/clock_tracking.h"

namespace muster::burnin {

using health::ParseTracking;
using health::Tracking;

CheckResult RunClockCheck(CheckContext& context);

}  // namespace muster::burnin
