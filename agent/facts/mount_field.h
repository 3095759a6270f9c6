// A field of /proc/mounts or /proc/self/mountinfo.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::agent {

// fstab's escapes: blanks, tabs, newlines and backslashes are written as octal numbers.
std::string UnescapeMountField(absl::string_view field);

}  // namespace muster::agent
