// Groups of values that may be compared with each other.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::v1 {
class CheckResult;
class Subject;
}  // namespace muster::v1

namespace muster::controller::validation {

// True for rates and temperatures, which belong to the hardware. Counts have ceilings; times of a
// few microseconds and free bytes differ for reasons unrelated to the hardware.
bool IsOfHardware(absl::string_view unit);

// An attribute that agents report about a part besides its model, such as "driver_version"; "": not
// reported.
std::string AttributeOf(const v1::Subject& subject, const char* name);

// Whether a result of TCP is of other ports than the inventory's network_interfaces: none of its
// ports is one of these, or is carried by one. False where `interfaces` is empty.
bool IsOfOtherPort(const v1::CheckResult& result, const std::vector<std::string>& interfaces);

// Parts with equal names may be compared: those of one kind, model, VBIOS, driver, power limit and
// firmware; ports and file systems only with those of the same name.
std::string PopulationOf(const v1::Subject& subject);

}  // namespace muster::controller::validation
