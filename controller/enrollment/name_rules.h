// Checks of input from strangers and users. Pure. Errors: InvalidArgument.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::controller {

// As a host name: letters, digits, '-' and '.', 1 to 63 bytes (it becomes a certificate's CN).
absl::Status ValidateNodeName(absl::string_view name);

// An applicant's description of itself, made safe for logs and terminals: control characters become
// '?', and text beyond 256 bytes is cut off.
std::string CleanDescription(absl::string_view text);

}  // namespace muster::controller
