// The check `machine-errors`: errors that the hardware has reported to the kernel.
#pragma once

#include "absl/strings/string_view.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

// Machine check exceptions in /proc/interrupts, over all processors.
double CountMachineChecks(absl::string_view interrupts);

CheckResult RunMachineErrorsCheck(CheckContext& context);

}  // namespace muster::burnin
