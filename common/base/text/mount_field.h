// A field of /proc/mounts, /proc/self/mountinfo or fstab. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Blanks, tabs, newlines and backslashes are written there as octal numbers of three digits
// (proc(5)).
std::string UnescapeMountField(absl::string_view field);

}  // namespace muster
