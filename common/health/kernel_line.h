// The parts of a line of the kernel's log. Pure.
#pragma once

#include "absl/strings/string_view.h"

namespace muster::health {

// The message of a line as dmesg, the journal or /dev/kmsg print it, without the times and names in
// front of it: "[   12.345678] c001 kernel: EDAC MC0: …" → "EDAC MC0: …".
absl::string_view KernelMessageOf(absl::string_view line);

// Whether the message begins with text that a user may have chosen: the name of a program, as in
// "python[1234]: segfault at …", or the rest of a message whose beginning is in another line.
bool BeginsWithUsersText(absl::string_view message);

}  // namespace muster::health
