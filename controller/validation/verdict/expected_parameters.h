// The inventory's expectations of a node, as parameters of the checks that look at it.
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "controller/validation/suite/found_hardware.h"
#include "controller/validation/verdict/hardware_class.h"

namespace muster::controller::validation {

// The suite's parameters for `check`, plus those with which the worker compares what it finds with
// the inventory's expectations, unless the suite sets them. Speed and MTU need a known port: the
// inventory names it, or the node has a single card with a link; where the suite names ports, the
// inventory's are not used. Pure.
std::map<std::string, std::string> WithExpectedParameters(
    absl::string_view check, std::map<std::string, std::string> parameters,
    const HardwareClass& expected, const FoundHardware& found);

}  // namespace muster::controller::validation
