// Join tokens, which a machine presents to become a node. Only their hashes are ever stored.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::controller {

// A new token: "mtk-" and 256 random bits in base 32 (52 letters and digits, no look-alikes).
std::string NewJoinToken();

// SHA-256 in hex, for storage and lookup. A token has 256 random bits, so an unsalted hash and an
// index over it give nothing away.
std::string HashJoinToken(absl::string_view token);

}  // namespace muster::controller
