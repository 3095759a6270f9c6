// Identities: random, or derived from a proof; never from a host name.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// A random (version 4) UUID in its canonical lower-case form.
std::string NewUuid();
// The UUID that follows from the text (version 8, by SHA-256), in the same form.
std::string UuidOf(absl::string_view text);
bool IsUuid(absl::string_view text);

// A short random name for things that people type, e.g. "r-7k3m9q2x": `prefix`, a dash and eight
// characters of an alphabet without look-alikes (40 bits).
std::string NewShortId(absl::string_view prefix);

}  // namespace muster
