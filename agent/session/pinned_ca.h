// The first contact with a controller: nothing is known of it but its CA's digest.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::agent {

// Makes a TLS 1.3 handshake with "host:port", whose certificate is not trusted yet, and gives the
// CA certificate of the server's chain (PEM) whose DER form has the SHA-256 `pin`
// ("sha256:<64 hex digits>"). Sends nothing. Blocks up to `timeout` a step.
// Errors: InvalidArgument (pin or address), Unavailable (no connection), PermissionDenied (none of
// the chain's certificates has the digest: it is not the controller that the line was made for).
absl::StatusOr<std::string> FetchPinnedCa(absl::string_view address, absl::string_view pin,
                                          absl::Duration timeout);

}  // namespace muster::agent
