// Finds implausible floors and ceilings; internal to controller/validation.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "common/checks/catalog.h"
#include "controller/validation/suite/hardware.h"

namespace muster::controller::validation {

// Describes what is wrong with the combined values of `limit`, worded to follow a place; "":
// nothing. `metric` is the catalogue's.
std::string LintLimit(const HardwareLimit& limit, const checks::MetricSpec& metric);
std::string LintPowerWatts(double watts);
std::string LintTemperature(double celsius);
std::string LintDigest(absl::string_view hex);

}  // namespace muster::controller::validation
