// Text from elsewhere, fit for a protobuf string.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Number of bytes of the first character of `text`; 0 if it is not UTF-8. REQUIRES: `text` is not
// empty.
size_t CharacterBytes(absl::string_view text);

// At most about `limit` bytes of `text`, with U+FFFD for anything that is not UTF-8: protobuf
// strings must be UTF-8, the output of programs need not be.
std::string ValidUtf8(absl::string_view text, size_t limit);

}  // namespace muster
