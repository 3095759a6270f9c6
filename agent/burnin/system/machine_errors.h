// The check `machine-errors`: what hardware has told the kernel of.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

// Of /proc/interrupts: machine check exceptions, over all processors.
double CountMachineChecks(absl::string_view interrupts);
// Lines of the kernel's log that tell of broken hardware.
std::vector<std::string> HardwareErrors(absl::string_view kernel_log);

CheckResult RunMachineErrorsCheck(CheckContext& context);

}  // namespace muster::burnin
