// The first contact with a controller, of which only the CA's digest is known.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::agent {

// Makes a TLS 1.3 handshake with "host:port", whose certificate is not trusted yet, and returns the
// CA certificate of the server's chain (PEM) whose DER form has the SHA-256 `pin` ("sha256:<64 hex
// digits>"). Sends nothing. Blocks up to `timeout` per step. Errors: InvalidArgument (pin or
// address), Unavailable (no connection), PermissionDenied (no certificate of the chain has the
// digest: it is not the controller that the line was made for).
absl::StatusOr<std::string> FetchPinnedCa(absl::string_view address, absl::string_view pin,
                                          absl::Duration timeout);

}  // namespace muster::agent
