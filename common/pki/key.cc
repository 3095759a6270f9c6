#include "common/pki/key.h"

#include <utility>

#include <openssl/pem.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "common/pki/names.h"
#include "common/pki/openssl.h"

namespace muster::pki {

namespace {

absl::StatusOr<std::string> CsrOf(EVP_PKEY* key, absl::string_view common_name) {
  X509ReqPtr csr(X509_REQ_new());
  RETURN_IF_ERROR(AddNameEntry(X509_REQ_get_subject_name(csr.get()), NID_commonName, common_name));
  if (X509_REQ_set_version(csr.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(csr.get(), key) != 1 ||
      X509_REQ_sign(csr.get(), key, EVP_sha256()) == 0) {
    return OpenSslError(absl::StatusCode::kInternal, "signing a certificate signing request");
  }
  BioPtr bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509_REQ(bio.get(), csr.get()) != 1)
    return OpenSslError(absl::StatusCode::kInternal, "writing a certificate signing request");
  return BioText(bio.get());
}

}  // namespace

absl::StatusOr<KeyAndCsr> MakeKeyAndCsr(absl::string_view common_name) {
  ASSIGN_OR_RETURN(const KeyPtr key, NewKey());
  KeyAndCsr made;
  ASSIGN_OR_RETURN(made.csr_pem, CsrOf(key.get(), common_name));
  ASSIGN_OR_RETURN(made.key_pem, WriteKey(key.get()));
  return made;
}

absl::StatusOr<std::string> MakeCsr(absl::string_view key_pem, absl::string_view common_name) {
  ASSIGN_OR_RETURN(const KeyPtr key, ReadKey(key_pem));
  return CsrOf(key.get(), common_name);
}

absl::StatusOr<Csr> ParseCsr(absl::string_view csr_pem) {
  ASSIGN_OR_RETURN(X509ReqPtr csr, ReadCsr(csr_pem));
  EVP_PKEY* key = X509_REQ_get0_pubkey(csr.get());
  RETURN_IF_ERROR(Annotate(RequireP256(key), "certificate signing request"));
  if (X509_REQ_verify(csr.get(), key) != 1)
    return OpenSslError(absl::StatusCode::kInvalidArgument,
                        "the certificate signing request is not signed by its own key");
  Csr parsed;
  ASSIGN_OR_RETURN(parsed.common_name,
                   NameEntry(X509_REQ_get_subject_name(csr.get()), NID_commonName));
  ASSIGN_OR_RETURN(parsed.public_key_sha256, PublicKeySha256(key));
  return parsed;
}

std::string KeyFingerprint(absl::string_view public_key_sha256) {
  constexpr size_t kDigits = 32, kGroup = 4;
  std::string fingerprint;
  for (size_t at = 0; at < kDigits; at += kGroup)
    absl::StrAppend(&fingerprint, at == 0 ? "" : "-", public_key_sha256.substr(at, kGroup));
  return fingerprint;
}

}  // namespace muster::pki
