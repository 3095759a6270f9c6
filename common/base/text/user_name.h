// The names of people, in certificates and on command lines. Pure.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster {

// Letters, digits, '-', '_', '.': 1 to 64 of them, the first a letter or digit. Errors:
// InvalidArgument.
absl::Status ValidateUserName(absl::string_view name);

}  // namespace muster
