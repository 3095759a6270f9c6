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

// Certificates begin that long before they are made: the clocks of machines that are being set up
// are rarely exact.
inline constexpr absl::Duration kBackdating = absl::Minutes(5);

// A self-signed CA on P-256 that may sign end certificates only (path length 0), valid until
// `now + validity`. `key` is an existing key, PEM or a token's URI; if empty, a new one is made.
absl::StatusOr<Authority> MakeCa(absl::string_view common_name, absl::Duration validity,
                                 absl::Time now, absl::string_view key = "");

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

// Renews a certificate by this authority: the same key and names, and the alternative names of
// `more`. Errors: as SignCsr(), and InvalidArgument when `pem` is not a certificate.
absl::StatusOr<std::string> SignAgain(const Authority& ca, absl::string_view pem,
                                      const Validity& validity, Usage usage,
                                      const Subject& more = {});

}  // namespace muster::pki
