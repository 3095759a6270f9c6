// Names in the order in which people count.
#pragma once

#include "absl/strings/string_view.h"

namespace muster {

// Whether `a` comes before `b`, digits counting as numbers of any length: "Ethernet1/2" before
// "Ethernet1/10". All else is compared byte by byte, as are names that differ in leading zeros
// alone: a strict total order.
bool NaturalLess(absl::string_view a, absl::string_view b);

}  // namespace muster
