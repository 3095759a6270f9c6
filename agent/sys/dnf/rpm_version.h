// rpm's order of versions. Pure.
#pragma once

#include "absl/strings/string_view.h"

namespace muster::agent {

// Compares "[epoch:]version[-release]" as rpm does: negative if `a` is older, 0 if they are equal.
// A missing epoch is 0; a missing release equals every release.
int CompareRpmVersions(absl::string_view a, absl::string_view b);

// "3:535.104-1" → "535.104-1".
absl::string_view WithoutEpoch(absl::string_view version);

}  // namespace muster::agent
