// Private keys and certificate signing requests (CSR), for those who ask for a certificate.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::pki {

struct KeyAndCsr {
  std::string key_pem;  // PKCS #8, not encrypted: keep it in a 0600 file
  std::string csr_pem;  // signed by the key: the proof of possession
};

// A fresh P-256 key and a CSR for it. `common_name` has 1 to 64 bytes; authorities decide
// themselves on every name in the certificate, this one is for people who look at the CSR.
absl::StatusOr<KeyAndCsr> MakeKeyAndCsr(absl::string_view common_name);

// A CSR for a key that exists (PEM): for a further certificate of the same owner.
absl::StatusOr<std::string> MakeCsr(absl::string_view key_pem, absl::string_view common_name);

struct Csr {
  std::string common_name;        // empty: none
  std::string public_key_sha256;  // hex, of the SubjectPublicKeyInfo
};

// Reads a CSR and checks its signature, that is, that its maker holds the private key. Errors:
// InvalidArgument (not a CSR, or badly signed), FailedPrecondition (not a P-256 key).
absl::StatusOr<Csr> ParseCsr(absl::string_view csr_pem);

// The text that a person compares on two screens: the first 128 bits of a public key's digest, in
// groups of four digits, "9f3a-41c0-…". REQUIRES: `public_key_sha256` is one of Csr's or
// Certificate's.
std::string KeyFingerprint(absl::string_view public_key_sha256);

}  // namespace muster::pki
