#include "agent/session/pinned_ca.h"

#include <memory>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "agent/session/dial.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/unique_fd.h"

namespace muster::agent {
namespace {

absl::StatusOr<std::string> CheckPin(absl::string_view pin) {
  absl::string_view hex = pin;
  bool good = absl::ConsumePrefix(&hex, "sha256:") && hex.size() == 64;
  for (const char c : hex) good &= absl::ascii_isxdigit(static_cast<unsigned char>(c));
  if (!good) {
    return absl::InvalidArgumentError(absl::StrCat(
        "CA pin '", pin, "' is not sha256: and 64 hexadecimal digits; paste it completely"));
  }
  return absl::AsciiStrToLower(hex);
}

std::string OpenSslReason() {
  char text[256] = "the connection was closed";
  const unsigned long code = ERR_get_error();
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

std::string Sha256OfDer(X509* certificate) {
  unsigned char* der = nullptr;
  const int length = i2d_X509(certificate, &der);
  if (length <= 0) return "";
  std::string digest =
      Sha256Hex(absl::string_view(reinterpret_cast<char*>(der), static_cast<size_t>(length)));
  OPENSSL_free(der);
  return digest;
}

absl::StatusOr<std::string> ToPem(X509* certificate) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new(BIO_s_mem()), BIO_free_all);
  if (bio == nullptr || PEM_write_bio_X509(bio.get(), certificate) != 1) {
    return absl::InternalError(absl::StrCat("writing the CA certificate: ", OpenSslReason()));
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

}  // namespace

absl::StatusOr<std::string> FetchPinnedCa(absl::string_view address_text, absl::string_view pin,
                                          absl::Duration timeout) {
  ASSIGN_OR_RETURN(const std::string wanted, CheckPin(pin));
  ASSIGN_OR_RETURN(const HostPort address, SplitHostPort(address_text));
  ASSIGN_OR_RETURN(const sys::UniqueFd fd, Dial(address, SourcePort::kAny, timeout));

  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1) {
    return absl::InternalError(absl::StrCat("preparing TLS: ", OpenSslReason()));
  }
  // Nothing is trusted yet; the digest below decides.
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), kHttp2, sizeof kHttp2);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), SSL_free);
  if (ssl == nullptr || SSL_set_fd(ssl.get(), fd.get()) != 1) {
    return absl::InternalError(absl::StrCat("preparing TLS: ", OpenSslReason()));
  }
  SSL_set_tlsext_host_name(ssl.get(), address.host.c_str());
  ERR_clear_error();
  if (SSL_connect(ssl.get()) != 1) {
    return absl::UnavailableError(absl::StrCat("TLS 1.3 handshake with ", address_text, ": ",
                                               OpenSslReason(),
                                               "; is this the enrollment port (7444)?"));
  }
  std::string seen;
  STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl.get());
  for (int i = 0; chain != nullptr && i < sk_X509_num(chain); ++i) {
    X509* certificate = sk_X509_value(chain, i);
    const std::string digest = Sha256OfDer(certificate);
    if (digest != wanted) {
      absl::StrAppend(&seen, seen.empty() ? "" : ", ", "sha256:", digest);
      continue;
    }
    if (X509_check_ca(certificate) == 0) {
      return absl::PermissionDeniedError(
          absl::StrCat("the certificate with the pinned digest is not that of a CA: pin the CA, "
                       "see `muster token create`"));
    }
    return ToPem(certificate);
  }
  return absl::PermissionDeniedError(absl::StrCat(
      address_text, " does not present the pinned CA sha256:", wanted, " (it presents ", seen,
      "): the join line is from another controller, the controller has a new CA, or someone "
      "intercepts the connection; make a new line with `muster token create`"));
}

}  // namespace muster::agent
