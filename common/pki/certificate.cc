#include "common/pki/certificate.h"

#include <ctime>
#include <utility>

#include <openssl/bn.h>
#include <openssl/err.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/pki/names.h"
#include "common/pki/openssl.h"

namespace muster::pki {
namespace {

constexpr absl::string_view kPemBegin = "-----BEGIN CERTIFICATE-----";
// There are two while the authority changes; more only by hand.
constexpr size_t kMaxRoots = 8;

absl::StatusOr<absl::Time> ToTime(const ASN1_TIME* time) {
  std::tm tm{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &tm) != 1)
    return OpenSslError(absl::StatusCode::kInvalidArgument, "reading a time in a certificate");
  return absl::FromTM(tm, absl::UTCTimeZone());
}

absl::StatusOr<std::string> SerialHex(const X509* certificate) {
  BIGNUM* number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr);
  if (number == nullptr)
    return OpenSslError(absl::StatusCode::kInvalidArgument, "reading the serial number");
  char* hex = BN_bn2hex(number);
  std::string text = hex == nullptr ? "" : absl::AsciiStrToLower(hex);
  OPENSSL_free(hex);
  BN_free(number);
  const size_t digit = text.find_first_not_of('0');
  return digit == std::string::npos ? std::string("0") : text.substr(digit);
}

absl::StatusOr<std::string> DerSha256(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate, &der);
  if (size < 0) return OpenSslError(absl::StatusCode::kInvalidArgument, "encoding a certificate");
  std::string digest =
      Sha256Hex(absl::string_view(reinterpret_cast<char*>(der), static_cast<size_t>(size)));
  OPENSSL_free(der);
  return digest;
}

}  // namespace

absl::StatusOr<Certificate> ParseCertificate(absl::string_view pem) {
  ASSIGN_OR_RETURN(X509Ptr x509, ReadX509(pem));
  Certificate parsed;
  ASSIGN_OR_RETURN(parsed.serial, SerialHex(x509.get()));
  const X509_NAME* subject = X509_get_subject_name(x509.get());
  ASSIGN_OR_RETURN(parsed.common_name, NameEntry(subject, NID_commonName));
  ASSIGN_OR_RETURN(parsed.organization, NameEntry(subject, NID_organizationName));
  int state = 0;
  const NamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(x509.get(), NID_subject_alt_name, &state, nullptr)));
  if (names == nullptr && state != -1)  // -1: there is none
    return OpenSslError(absl::StatusCode::kInvalidArgument, "reading the alternative names");
  if (names != nullptr) {
    ASSIGN_OR_RETURN(parsed.uri_sans, AlternativeNames(names.get(), GEN_URI));
    ASSIGN_OR_RETURN(parsed.dns_sans, AlternativeNames(names.get(), GEN_DNS));
  }
  ASSIGN_OR_RETURN(parsed.not_before, ToTime(X509_get0_notBefore(x509.get())));
  ASSIGN_OR_RETURN(parsed.not_after, ToTime(X509_get0_notAfter(x509.get())));
  ASSIGN_OR_RETURN(parsed.sha256, DerSha256(x509.get()));
  ASSIGN_OR_RETURN(parsed.public_key_sha256, PublicKeySha256(X509_get0_pubkey(x509.get())));
  parsed.is_ca = X509_check_ca(x509.get()) == 1;
  return parsed;
}

absl::StatusOr<std::string> Sha256Pin(absl::string_view pem) {
  ASSIGN_OR_RETURN(X509Ptr x509, ReadX509(pem));
  ASSIGN_OR_RETURN(std::string digest, DerSha256(x509.get()));
  return absl::StrCat("sha256:", digest);
}

absl::StatusOr<std::vector<std::string>> SplitCertificates(absl::string_view pem) {
  std::vector<std::string> certificates;
  size_t at = pem.find(kPemBegin);
  while (at != absl::string_view::npos) {
    if (certificates.size() == kMaxRoots)
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxRoots, " certificates"));
    const size_t next = pem.find(kPemBegin, at + kPemBegin.size());
    ASSIGN_OR_RETURN(const X509Ptr x509, ReadX509(pem.substr(at, next - at)));
    ASSIGN_OR_RETURN(std::string one, WriteX509(x509.get()));
    certificates.push_back(std::move(one));
    at = next;
  }
  if (certificates.empty()) return absl::InvalidArgumentError("not a PEM certificate");
  return certificates;
}

absl::StatusOr<std::vector<std::string>> Pins(absl::string_view roots_pem) {
  ASSIGN_OR_RETURN(const std::vector<std::string> roots, SplitCertificates(roots_pem));
  std::vector<std::string> pins;
  for (const std::string& root : roots) {
    ASSIGN_OR_RETURN(pins.emplace_back(), Sha256Pin(root));
  }
  return pins;
}

absl::StatusOr<std::string> IssuerOf(absl::string_view pem, absl::string_view roots_pem) {
  ASSIGN_OR_RETURN(const X509Ptr x509, ReadX509(pem));
  ASSIGN_OR_RETURN(std::vector<std::string> roots, SplitCertificates(roots_pem));
  for (std::string& root : roots) {
    ASSIGN_OR_RETURN(const X509Ptr ca, ReadX509(root));
    if (X509_check_ca(ca.get()) == 1 && X509_check_issued(ca.get(), x509.get()) == X509_V_OK &&
        X509_verify(x509.get(), X509_get0_pubkey(ca.get())) == 1) {
      ERR_clear_error();  // left by the roots before it
      return std::move(root);
    }
  }
  return OpenSslError(absl::StatusCode::kFailedPrecondition,
                      roots.size() == 1 ? "the certificate is not signed by this CA"
                                        : "the certificate is not signed by any of these CAs");
}

absl::Status VerifySignedBy(absl::string_view pem, absl::string_view roots_pem, absl::Time now) {
  RETURN_IF_ERROR(IssuerOf(pem, roots_pem).status());
  ASSIGN_OR_RETURN(const X509Ptr x509, ReadX509(pem));
  ASSIGN_OR_RETURN(const absl::Time not_before, ToTime(X509_get0_notBefore(x509.get())));
  ASSIGN_OR_RETURN(const absl::Time not_after, ToTime(X509_get0_notAfter(x509.get())));
  if (now < not_before || now > not_after) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the certificate is valid from ", absl::FormatTime(not_before, absl::UTCTimeZone()), " to ",
        absl::FormatTime(not_after, absl::UTCTimeZone()), ", and it is ",
        absl::FormatTime(now, absl::UTCTimeZone()), "; check the clock"));
  }
  return absl::OkStatus();
}

}  // namespace muster::pki
