// Certificates and signing requests come from strangers: the enrollment listener takes any CSR, and
// a server that answers a joining machine may show any chain.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "common/pki/certificate.h"
#include "common/pki/endorsement_key.h"
#include "common/pki/key.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(certificate, data, size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  muster::pki::ParseCertificate(text).status().IgnoreError();
  muster::pki::ParseEndorsementKey(text).status().IgnoreError();
  muster::pki::ParseCsr(text).status().IgnoreError();
  muster::pki::Sha256Pin(text).status().IgnoreError();
  muster::pki::SplitCertificates(text).status().IgnoreError();
  muster::pki::VerifySignedBy(text, text, absl::UnixEpoch()).IgnoreError();
  return 0;
}
