// The endorsement key of a TPM 2.0: made in the chip, never leaves it, and tells one machine from
// all others. It cannot sign; what is sealed for it (see tpm2_makecredential(1)) it alone opens.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::pki {

struct EndorsementKey {
  std::string public_pem;  // of the key alone, as OpenSSL writes it, whatever was read
  // Hex, of the SubjectPublicKeyInfo: the same for the key and for its maker's certificate.
  std::string sha256;
};

// Reads the public half of a key of the usual kind, RSA with 2048 bits and the exponent 65537,
// which each TPM of a PC has (TCG EK Credential Profile 2.5, template L-1). InvalidArgument: it is
// not one.
absl::StatusOr<EndorsementKey> ParseEndorsementKey(absl::string_view public_pem);

// The uuid of the machine with this key as the node of this name (version 8, RFC 9562): the same
// after each boot, and another one under another name. REQUIRES: `sha256` is an EndorsementKey's.
std::string MachineUuid(absl::string_view sha256, absl::string_view node_name);

}  // namespace muster::pki
