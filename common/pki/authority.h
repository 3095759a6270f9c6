// The acts of a certificate authority: making itself, and signing for others.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::pki {

// A CA's own certificate and private key, PEM.
struct Authority {
  std::string certificate_pem;
  std::string key_pem;
};

struct Validity {
  absl::Time not_before;
  absl::Time not_after;
};

// A self-signed P-256 CA that may sign end certificates only (path length 0), valid from five
// minutes before `now` (other clocks differ) until `now + validity`.
absl::StatusOr<Authority> MakeCa(absl::string_view common_name, absl::Duration validity,
                                 absl::Time now);

// FailedPrecondition unless the key belongs to the certificate and the certificate is a CA's.
absl::Status CheckAuthority(const Authority& ca);

enum class Usage { kClient, kServer };

// Who a certificate is for. Everything comes from the authority, nothing from the CSR but its key.
struct Subject {
  std::string common_name;
  std::string organization;  // the role, "muster:node"; empty: none
  std::vector<std::string> uri_sans;
  std::vector<std::string> dns_sans;
  std::vector<std::string> ip_sans;  // in text form
};

// A certificate (PEM) with a random 128-bit serial for the CSR's key. The CSR's signature is
// checked first: only who holds the private key gets a certificate.
// Errors: InvalidArgument (bad CSR or subject), FailedPrecondition (not a P-256 key, bad CA).
absl::StatusOr<std::string> SignCsr(const Authority& ca, absl::string_view csr_pem,
                                    const Subject& subject, const Validity& validity, Usage usage);

}  // namespace muster::pki
