#include "common/pki/openssl.h"

#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"

namespace muster::pki {
namespace {

constexpr size_t kMaxPemBytes = 64 * 1024;

// Replaces OpenSSL's default, which would ask on the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

absl::StatusOr<BioPtr> Open(absl::string_view pem, absl::string_view what) {
  if (pem.size() > kMaxPemBytes)
    return absl::InvalidArgumentError(absl::StrCat(what, ": larger than 64 KiB"));
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

}  // namespace

absl::Status OpenSslError(absl::StatusCode code, absl::string_view context) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return absl::Status(
      code, absl::StrCat(context, reason == nullptr ? "" : ": ", reason == nullptr ? "" : reason));
}

std::string BioText(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

absl::StatusOr<X509Ptr> ReadX509(absl::string_view pem) {
  ASSIGN_OR_RETURN(BioPtr bio, Open(pem, "certificate"));
  X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
  if (certificate == nullptr)
    return OpenSslError(absl::StatusCode::kInvalidArgument, "not a PEM certificate");
  return certificate;
}

absl::StatusOr<X509ReqPtr> ReadCsr(absl::string_view pem) {
  ASSIGN_OR_RETURN(BioPtr bio, Open(pem, "certificate signing request"));
  X509ReqPtr csr(PEM_read_bio_X509_REQ(bio.get(), nullptr, NoPassword, nullptr));
  if (csr == nullptr)
    return OpenSslError(absl::StatusCode::kInvalidArgument,
                        "not a PEM certificate signing request");
  return csr;
}

absl::StatusOr<KeyPtr> ReadKey(absl::string_view pem) {
  ASSIGN_OR_RETURN(BioPtr bio, Open(pem, "private key"));
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr)
    return OpenSslError(absl::StatusCode::kInvalidArgument, "not a PEM private key");
  return key;
}

absl::StatusOr<std::string> WriteX509(X509* certificate) {
  BioPtr bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(bio.get(), certificate) != 1)
    return OpenSslError(absl::StatusCode::kInternal, "writing a certificate");
  return BioText(bio.get());
}

absl::StatusOr<std::string> WriteKey(EVP_PKEY* key) {
  BioPtr bio(BIO_new(BIO_s_secmem()));
  if (PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return OpenSslError(absl::StatusCode::kInternal, "writing a private key");
  return BioText(bio.get());
}

absl::StatusOr<KeyPtr> NewKey() {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslError(absl::StatusCode::kInternal, "generating a key");
  return key;
}

absl::Status RequireP256(EVP_PKEY* key) {
  char group[64] = "";
  size_t size = 0;
  if (key != nullptr && EVP_PKEY_is_a(key, "EC") == 1 &&
      EVP_PKEY_get_group_name(key, group, sizeof(group), &size) == 1 &&
      absl::string_view(group, size) == "prime256v1") {
    return absl::OkStatus();
  }
  return OpenSslError(absl::StatusCode::kFailedPrecondition,
                      "the key is not an elliptic-curve key on P-256, the only accepted kind");
}

absl::StatusOr<std::string> PublicKeySha256(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = key == nullptr ? -1 : i2d_PUBKEY(key, &der);
  if (size < 0) return OpenSslError(absl::StatusCode::kInvalidArgument, "reading the public key");
  std::string digest =
      Sha256Hex(absl::string_view(reinterpret_cast<char*>(der), static_cast<size_t>(size)));
  OPENSSL_free(der);
  return digest;
}

}  // namespace muster::pki
