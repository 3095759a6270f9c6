// The acts of a certificate authority: making itself, and signing for others.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::pki {

// A CA's own certificate, PEM, and where its private key is.
struct Authority {
  std::string certificate_pem;
  std::string key;  // PEM, or a token's "pkcs11:…" (token_key.h)
};

// Whether the text, for instance that of a key file, names a key in a token.
bool IsTokenKey(absl::string_view text);

struct Validity {
  absl::Time not_before;
  absl::Time not_after;
};

// A self-signed P-256 CA that may sign end certificates only (path length 0), valid from five
// minutes before `now` (other clocks differ) until `now + validity`.
absl::StatusOr<Authority> MakeCa(absl::string_view common_name, absl::Duration validity,
                                 absl::Time now);
// The same for a key that exists, on P-256, PEM or a token's URI.
absl::StatusOr<Authority> MakeCaWithKey(absl::string_view common_name, absl::string_view key,
                                        absl::Duration validity, absl::Time now);

// FailedPrecondition unless the key belongs to the certificate and the certificate is a CA's.
absl::Status CheckAuthority(const Authority& ca);

// The index of the root to which the key belongs; FailedPrecondition: there is none, or the key
// cannot be opened. The key is opened once: a token counts attempts with a wrong PIN.
absl::StatusOr<size_t> RootOf(const std::vector<std::string>& roots, absl::string_view key);

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
// checked first: only the holder of the private key gets a certificate. Errors: InvalidArgument
// (bad CSR or subject), FailedPrecondition (not a P-256 key, bad CA).
absl::StatusOr<std::string> SignCsr(const Authority& ca, absl::string_view csr_pem,
                                    const Subject& subject, const Validity& validity, Usage usage);

// Renews a certificate by this authority: the same key and names. Errors: as SignCsr(), and
// InvalidArgument when `pem` is not a certificate.
absl::StatusOr<std::string> SignAgain(const Authority& ca, absl::string_view pem,
                                      const Validity& validity, Usage usage);

}  // namespace muster::pki
