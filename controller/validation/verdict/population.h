// Which values may be compared with each other.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::v1 {
class Subject;
}

namespace muster::controller::validation {

// Rates and temperatures belong to the hardware. Counts have ceilings; times of a few microseconds
// and free bytes differ for reasons that are none of the hardware's.
bool IsOfHardware(absl::string_view unit);

// What agents tell of a part beside its model, such as "driver_version"; "": nothing.
std::string AttributeOf(const v1::Subject& subject, const char* name);

// Parts of equal names may be compared: those of one kind, model, VBIOS, driver, power limit and
// firmware; of ports and file systems only those of one name.
std::string PopulationOf(const v1::Subject& subject);

}  // namespace muster::controller::validation
