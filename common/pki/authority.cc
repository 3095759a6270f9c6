#include "common/pki/authority.h"

#include <optional>
#include <utility>

#include <openssl/bn.h>
#include <openssl/err.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/pki/key.h"
#include "common/pki/names.h"
#include "common/pki/openssl.h"
#include "common/pki/token_key.h"

namespace muster::pki {
namespace {

absl::Status AddExtension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  if (added) return absl::OkStatus();
  return OpenSslError(absl::StatusCode::kInternal,
                      absl::StrCat("adding the extension ", OBJ_nid2ln(nid)));
}

// `names` and those of the subject.
absl::Status AddAlternativeNames(X509* certificate, NamesPtr names, const Subject& subject) {
  for (const std::string& uri : subject.uri_sans)
    RETURN_IF_ERROR(AddAlternativeName(names.get(), GEN_URI, uri));
  for (const std::string& dns : subject.dns_sans)
    RETURN_IF_ERROR(AddAlternativeName(names.get(), GEN_DNS, dns));
  for (const std::string& ip : subject.ip_sans)
    RETURN_IF_ERROR(AddAlternativeName(names.get(), GEN_IPADD, ip));
  if (sk_GENERAL_NAME_num(names.get()) == 0) return absl::OkStatus();
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) != 1)
    return OpenSslError(absl::StatusCode::kInternal, "adding the alternative names");
  return absl::OkStatus();
}

// 128 random bits; the top one is zero, so the DER form is 16 bytes and positive.
bool SetRandomSerial(X509* certificate) {
  std::string bytes = RandomBytes(16);
  bytes[0] = static_cast<char>((bytes[0] & 0x7f) | 0x40);
  BIGNUM* number = BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                             static_cast<int>(bytes.size()), nullptr);
  const bool set = BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return set;
}

// Sets version, serial, validity and key; the caller sets the rest.
absl::StatusOr<X509Ptr> Begin(EVP_PKEY* key, const Validity& validity) {
  if (validity.not_after <= validity.not_before)
    return absl::InvalidArgumentError("a certificate must end after it begins");
  X509Ptr x509(X509_new());
  if (X509_set_version(x509.get(), X509_VERSION_3) != 1 || !SetRandomSerial(x509.get()) ||
      ASN1_TIME_set(X509_getm_notBefore(x509.get()), absl::ToTimeT(validity.not_before)) ==
          nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(x509.get()), absl::ToTimeT(validity.not_after)) == nullptr ||
      X509_set_pubkey(x509.get(), key) != 1) {
    return OpenSslError(absl::StatusCode::kInternal, "making a certificate");
  }
  return x509;
}

absl::StatusOr<std::string> Finish(X509* certificate, EVP_PKEY* signer) {
  if (X509_sign(certificate, signer, EVP_sha256()) == 0)
    return OpenSslError(absl::StatusCode::kInternal, "signing a certificate");
  return WriteX509(certificate);
}

// An authority's key. If it is in a token, the token serves nobody else meanwhile.
class OpenedKey {
 public:
  static absl::StatusOr<OpenedKey> Open(absl::string_view key) {
    OpenedKey opened;
    if (IsTokenKey(key)) opened.turn_.emplace();
    ASSIGN_OR_RETURN(opened.key_, IsTokenKey(key) ? OpenTokenKey(key) : ReadKey(key));
    return opened;
  }

  EVP_PKEY* get() const { return key_.get(); }

 private:
  std::optional<TokenTurn> turn_;  // outlives the key
  KeyPtr key_;
};

// An authority that is ready to sign.
class Signer {
 public:
  static absl::StatusOr<Signer> Open(const Authority& ca) {
    Signer signer;
    ASSIGN_OR_RETURN(signer.certificate_, ReadX509(ca.certificate_pem));
    ASSIGN_OR_RETURN(signer.key_, OpenedKey::Open(ca.key));
    if (X509_check_ca(signer.certificate_.get()) != 1)
      return absl::FailedPreconditionError("the certificate is not a CA's");
    if (X509_check_private_key(signer.certificate_.get(), signer.key_.get()) != 1)
      return OpenSslError(absl::StatusCode::kFailedPrecondition,
                          "the private key does not belong to the certificate");
    return signer;
  }

  // The common parts of all certificates for others; the caller sets subject and alternative names.
  absl::Status Begin(X509* leaf, Usage usage) const {
    X509* issuer = certificate_.get();
    if (X509_set_issuer_name(leaf, X509_get_subject_name(issuer)) != 1)
      return OpenSslError(absl::StatusCode::kInternal, "setting the issuer");
    RETURN_IF_ERROR(AddExtension(leaf, issuer, NID_basic_constraints, "critical,CA:FALSE"));
    RETURN_IF_ERROR(AddExtension(leaf, issuer, NID_key_usage, "critical,digitalSignature"));
    RETURN_IF_ERROR(AddExtension(leaf, issuer, NID_ext_key_usage,
                                 usage == Usage::kServer ? "serverAuth" : "clientAuth"));
    RETURN_IF_ERROR(AddExtension(leaf, issuer, NID_subject_key_identifier, "hash"));
    return AddExtension(leaf, issuer, NID_authority_key_identifier, "keyid:always");
  }

  EVP_PKEY* key() const { return key_.get(); }

 private:
  X509Ptr certificate_;
  OpenedKey key_;
};

}  // namespace

bool IsTokenKey(absl::string_view text) { return absl::StartsWith(text, "pkcs11:"); }

absl::StatusOr<Authority> MakeCa(absl::string_view common_name, absl::Duration validity,
                                 absl::Time now, absl::string_view key) {
  Authority ca;
  ca.key = std::string(key);
  if (key.empty()) {
    ASSIGN_OR_RETURN(const KeyPtr made, NewKey());
    ASSIGN_OR_RETURN(ca.key, WriteKey(made.get()));
  }
  ASSIGN_OR_RETURN(const OpenedKey signer, OpenedKey::Open(ca.key));
  RETURN_IF_ERROR(RequireP256(signer.get()));
  ASSIGN_OR_RETURN(X509Ptr x509, Begin(signer.get(), {now - kBackdating, now + validity}));
  X509_NAME* name = X509_get_subject_name(x509.get());
  RETURN_IF_ERROR(AddNameEntry(name, NID_commonName, common_name));
  X509_set_issuer_name(x509.get(), name);
  X509* self = x509.get();
  RETURN_IF_ERROR(AddExtension(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  RETURN_IF_ERROR(AddExtension(self, self, NID_key_usage, "critical,keyCertSign,cRLSign"));
  RETURN_IF_ERROR(AddExtension(self, self, NID_subject_key_identifier, "hash"));
  ASSIGN_OR_RETURN(ca.certificate_pem, Finish(self, signer.get()));
  return ca;
}

absl::StatusOr<size_t> RootOf(const std::vector<std::string>& roots, absl::string_view key) {
  ASSIGN_OR_RETURN(const OpenedKey opened, OpenedKey::Open(key));
  for (size_t i = 0; i < roots.size(); ++i) {
    ASSIGN_OR_RETURN(const X509Ptr root, ReadX509(roots[i]));
    if (X509_check_ca(root.get()) == 1 && X509_check_private_key(root.get(), opened.get()) == 1) {
      ERR_clear_error();  // left by earlier roots: TLS on this thread would take it for its own
      return i;
    }
  }
  return OpenSslError(absl::StatusCode::kFailedPrecondition,
                      "the private key does not belong to the certificate");
}

absl::StatusOr<std::string> SignCsr(const Authority& ca, absl::string_view csr_pem,
                                    const Subject& subject, const Validity& validity, Usage usage) {
  RETURN_IF_ERROR(ParseCsr(csr_pem).status());
  ASSIGN_OR_RETURN(const Signer signer, Signer::Open(ca));
  ASSIGN_OR_RETURN(X509ReqPtr csr, ReadCsr(csr_pem));
  ASSIGN_OR_RETURN(X509Ptr leaf, Begin(X509_REQ_get0_pubkey(csr.get()), validity));
  X509_NAME* name = X509_get_subject_name(leaf.get());
  if (!subject.organization.empty())
    RETURN_IF_ERROR(AddNameEntry(name, NID_organizationName, subject.organization));
  RETURN_IF_ERROR(AddNameEntry(name, NID_commonName, subject.common_name));
  RETURN_IF_ERROR(signer.Begin(leaf.get(), usage));
  RETURN_IF_ERROR(AddAlternativeNames(leaf.get(), NamesPtr(GENERAL_NAMES_new()), subject));
  return Finish(leaf.get(), signer.key());
}

absl::StatusOr<std::string> SignAgain(const Authority& ca, absl::string_view pem,
                                      const Validity& validity, Usage usage, const Subject& more) {
  ASSIGN_OR_RETURN(const X509Ptr before, ReadX509(pem));
  ASSIGN_OR_RETURN(const Signer signer, Signer::Open(ca));
  ASSIGN_OR_RETURN(X509Ptr leaf, Begin(X509_get0_pubkey(before.get()), validity));
  if (X509_set_subject_name(leaf.get(), X509_get_subject_name(before.get())) != 1)
    return OpenSslError(absl::StatusCode::kInternal, "setting the subject");
  RETURN_IF_ERROR(signer.Begin(leaf.get(), usage));
  NamesPtr names(GENERAL_NAMES_new());
  if (X509_get_ext_by_NID(before.get(), NID_subject_alt_name, -1) >= 0)
    names.reset(static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(before.get(), NID_subject_alt_name, nullptr, nullptr)));
  if (names == nullptr)
    return OpenSslError(absl::StatusCode::kInvalidArgument, "reading the alternative names");
  RETURN_IF_ERROR(AddAlternativeNames(leaf.get(), std::move(names), more));
  return Finish(leaf.get(), signer.key());
}

}  // namespace muster::pki
