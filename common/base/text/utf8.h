// Text from elsewhere, fit for a protobuf string.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Bytes of the character that `text` begins with; 0: that is not UTF-8. REQUIRES: it is not empty.
size_t CharacterBytes(absl::string_view text);

// At most about `limit` bytes of `text`, with U+FFFD for what is not UTF-8: protobuf strings must
// be UTF-8, what programs print need not be.
std::string ValidUtf8(absl::string_view text, size_t limit);

}  // namespace muster
