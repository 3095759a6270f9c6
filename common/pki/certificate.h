// The contents of a certificate, and who signed it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::pki {

struct Certificate {
  std::string serial;        // lower-case hex without leading zeros
  std::string common_name;   // CN; empty: none
  std::string organization;  // O; empty: none
  std::vector<std::string> uri_sans;
  std::vector<std::string> dns_sans;
  absl::Time not_before;
  absl::Time not_after;
  std::string sha256;             // hex, of the DER form
  std::string public_key_sha256;  // hex, of the SubjectPublicKeyInfo
  bool is_ca = false;
};

// Reads the first certificate of `pem`; checks neither signature nor validity.
// Errors: InvalidArgument.
absl::StatusOr<Certificate> ParseCertificate(absl::string_view pem);

// "sha256:<hex of the DER form>": how an administrator names a CA on a command line.
absl::StatusOr<std::string> Sha256Pin(absl::string_view pem);

// The certificates of a file of roots, each as its own PEM block, in their order. Errors:
// InvalidArgument: there is none, or more than eight.
absl::StatusOr<std::vector<std::string>> SplitCertificates(absl::string_view pem);

// Sha256Pin() of each of them.
absl::StatusOr<std::vector<std::string>> Pins(absl::string_view roots_pem);

// The root that signed `pem`, out of one or several (PEM). FailedPrecondition: none did.
absl::StatusOr<std::string> IssuerOf(absl::string_view pem, absl::string_view roots_pem);

// FailedPrecondition unless `pem` is signed by one of the roots and valid at `now`.
absl::Status VerifySignedBy(absl::string_view pem, absl::string_view roots_pem, absl::Time now);

}  // namespace muster::pki
