// Join tokens: what a machine shows to become a node. Only their hashes are ever stored.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::controller {

// A new token: "mtk-" and 256 random bits in base 32 (52 letters and digits, no look-alikes).
std::string NewJoinToken();

// What is stored and looked up: SHA-256 in hex. A token has 256 random bits, so a plain hash, and
// an index over it, give nothing away.
std::string HashJoinToken(absl::string_view token);

}  // namespace muster::controller
