// Owners for OpenSSL's objects, and its errors as absl::Status. For the files of this folder only.
#pragma once

#include <memory>
#include <string>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::pki {

template <auto kFree>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
inline void FreeNames(GENERAL_NAMES* names) { GENERAL_NAMES_free(names); }

using BioPtr = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, Deleter<X509_free>>;
using X509ReqPtr = std::unique_ptr<X509_REQ, Deleter<X509_REQ_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Deleter<FreeNames>>;

// "context: OpenSSL's reason", with OpenSSL's queue of errors emptied.
absl::Status OpenSslError(absl::StatusCode code, absl::string_view context);

// The text that was written into a memory BIO.
std::string BioText(BIO* bio);

// Errors: InvalidArgument when the text is not one PEM block of the kind or is above 64 KiB.
absl::StatusOr<X509Ptr> ReadX509(absl::string_view pem);
absl::StatusOr<X509ReqPtr> ReadCsr(absl::string_view pem);
absl::StatusOr<KeyPtr> ReadKey(absl::string_view pem);

absl::StatusOr<std::string> WriteX509(X509* certificate);
absl::StatusOr<std::string> WriteKey(EVP_PKEY* key);

// A fresh key on the curve P-256.
absl::StatusOr<KeyPtr> NewKey();
// FailedPrecondition unless the key is elliptic on P-256, the only kind that Muster certifies.
absl::Status RequireP256(EVP_PKEY* key);
// SHA-256 (hex) of the key's SubjectPublicKeyInfo.
absl::StatusOr<std::string> PublicKeySha256(EVP_PKEY* key);

}  // namespace muster::pki
