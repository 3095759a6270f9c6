// What a certificate says.
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

// "sha256:<hex of the DER form>", how an administrator names a CA on a command line.
absl::StatusOr<std::string> Sha256Pin(absl::string_view pem);

// FailedPrecondition unless `pem` is signed by the CA in `ca_pem` and valid at `now`.
absl::Status VerifySignedBy(absl::string_view pem, absl::string_view ca_pem, absl::Time now);

}  // namespace muster::pki
