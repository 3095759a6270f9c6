// The check `machine-errors`: what hardware has told the kernel of.
#pragma once

#include "absl/strings/string_view.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

// Of /proc/interrupts: machine check exceptions, over all processors.
double CountMachineChecks(absl::string_view interrupts);

CheckResult RunMachineErrorsCheck(CheckContext& context);

}  // namespace muster::burnin
