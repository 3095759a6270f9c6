// One call to a web service that is trusted by its certificate alone, by libcurl.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/power/bmc.h"
#include "controller/secret/secret_buffer.h"

namespace muster::controller::power {

// The servers that are believed.
struct HttpsTrust {
  // SHA-256 of the DER form, in hex: that certificate, whatever it is for and however old. "": one
  // that `ca` (PEM; "": the system's authorities) has signed for the host.
  std::string certificate;
  std::string ca;
  bool is_verified = true;  // otherwise anybody
};

struct HttpsCall {
  std::string method;  // "GET", "POST", "PATCH"
  std::string url;     // https://
  std::string user;
  const SecretBuffer* password = nullptr;  // never in an error
  std::string body;                        // JSON; "": none
  std::string if_match;                    // the header's value, in plain letters; "": none
  size_t max_answer = 0;                   // a longer one is an error
};

struct HttpsAnswer {
  long status = 0;
  std::string body;
};

struct HttpsLimits {
  absl::Duration connect = absl::Seconds(8);
  absl::Duration total = absl::Seconds(20);
};

// Blocks within the limits. Redirects are not followed. Unavailable: no answer came.
// FailedPrecondition: the certificate is not trusted, and the message has its fingerprint; or the
// answer is too long. Thread-safe.
absl::StatusOr<HttpsAnswer> CallHttps(const HttpsCall& call, const HttpsTrust& trust,
                                      const Cancelled& cancelled, const HttpsLimits& limits = {});

}  // namespace muster::controller::power
