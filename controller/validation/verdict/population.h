// Groups of values that may be compared with each other.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::v1 {
class Subject;
}

namespace muster::controller::validation {

// True for rates and temperatures, which belong to the hardware. Counts have ceilings; times of a
// few microseconds and free bytes differ for reasons unrelated to the hardware.
bool IsOfHardware(absl::string_view unit);

// An attribute that agents report about a part besides its model, such as "driver_version"; "": not
// reported.
std::string AttributeOf(const v1::Subject& subject, const char* name);

// Parts with equal names may be compared: those of one kind, model, VBIOS, driver, power limit and
// firmware; ports and file systems only with those of the same name.
std::string PopulationOf(const v1::Subject& subject);

}  // namespace muster::controller::validation
