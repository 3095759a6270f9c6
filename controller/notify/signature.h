// The signature by which a receiver knows that a webhook's message is ours. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::controller::notify {

// HMAC-SHA256 (RFC 2104) in lower-case hexadecimal.
std::string HmacSha256Hex(absl::string_view key, absl::string_view text);

// The value of the header X-Muster-Signature: "sha256=" and the HMAC over "TIMESTAMP.BODY". The
// timestamp is part of it, so that nobody can send an old message again later.
std::string Signature(absl::string_view key, absl::string_view timestamp, absl::string_view body);

}  // namespace muster::controller::notify
