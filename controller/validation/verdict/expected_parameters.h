// What the inventory expects of a node, in the words of the checks that look at it.
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "controller/validation/suite/found_hardware.h"
#include "controller/validation/verdict/hardware_class.h"

namespace muster::controller::validation {

// The suite's parameters for `check`, and those by which the worker compares what it finds with
// what the inventory expects, as far as the suite does not give them. Speed and MTU of a port need
// to know which port is meant: the inventory names it, or the node has a single card with a link;
// where the suite names ports, the inventory's are not those. Pure.
std::map<std::string, std::string> WithExpectedParameters(
    absl::string_view check, std::map<std::string, std::string> parameters,
    const HardwareClass& expected, const FoundHardware& found);

}  // namespace muster::controller::validation
