#include "controller/power/redfish/https_call.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include <curl/curl.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "absl/base/call_once.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/text/plain_text.h"
#include "common/base/version.h"

namespace muster::controller::power {
namespace {

using EasyHandle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using TextList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

constexpr size_t kMaxReason = 200;

// The remedies for libcurl's errors.
struct Remedy {
  CURLcode code;
  const char* text;
};
constexpr Remedy kRemedies[] = {
    {CURLE_COULDNT_RESOLVE_HOST, "check bmc_address and the controller's resolver"},
    {CURLE_COULDNT_CONNECT,
     "check bmc_address and bmc_port, and that the controller reaches the BMCs' network"},
    {CURLE_OPERATION_TIMEDOUT,
     "the BMC hangs, or a firewall is in the way; restarting a BMC does not touch its machine"},
    {CURLE_SSL_CONNECT_ERROR, "the BMC must speak TLS 1.2 or newer; update its firmware"},
    {CURLE_SSL_CACERT_BADFILE, "check that bmc_ca is a certificate in PEM"},
    {CURLE_GOT_NOTHING, "the BMC closed the connection; it may be restarting"},
};

struct Transfer {
  const HttpsCall& call;
  const HttpsTrust& trust;
  const Cancelled& cancelled;
  std::string body;
  bool is_too_long = false;
  std::string presented;  // SHA-256 of the peer's certificate, in hex; "": none was seen
};

size_t OnData(char* data, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const size_t bytes = size * count;
  if (transfer.body.size() + bytes > transfer.call.max_answer) {
    transfer.is_too_long = true;
    return 0;
  }
  transfer.body.append(data, bytes);
  return bytes;
}

int OnTick(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const Cancelled& cancelled = static_cast<const Transfer*>(self)->cancelled;
  return cancelled && cancelled() ? 1 : 0;
}

// Judges the peer's certificate in place of OpenSSL, which is asked where no certificate is named.
int OnCertificate(X509_STORE_CTX* context, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  X509* const certificate = X509_STORE_CTX_get0_cert(context);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (certificate == nullptr || X509_digest(certificate, EVP_sha256(), digest, &size) != 1) {
    X509_STORE_CTX_set_error(context, X509_V_ERR_UNSPECIFIED);
    return 0;
  }
  transfer.presented =
      absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
  if (!transfer.trust.is_verified) return 1;
  if (transfer.trust.certificate.empty()) return X509_verify_cert(context) == 1 ? 1 : 0;
  if (transfer.presented == transfer.trust.certificate) {
    X509_STORE_CTX_set_error(context, X509_V_OK);
    return 1;
  }
  X509_STORE_CTX_set_error(context, X509_V_ERR_CERT_REJECTED);
  return 0;
}

CURLcode OnTlsContext(CURL*, void* context, void* self) {
  SSL_CTX_set_cert_verify_callback(static_cast<SSL_CTX*>(context), &OnCertificate, self);
  return CURLE_OK;
}

long Milliseconds(absl::Duration duration) {
  return static_cast<long>(std::max<int64_t>(1, absl::ToInt64Milliseconds(duration)));
}

std::string CertificateFault(const Transfer& transfer) {
  const std::string seen = absl::StrCat("sha256:", transfer.presented);
  if (!transfer.trust.certificate.empty())
    return absl::StrCat("its certificate is ", seen,
                        ", not the one that bmc_certificate names; if "
                        "the BMC got a new one, compare it there and correct the variable");
  return absl::StrCat("its certificate, ", seen,
                      ", is not one of a known authority for this address; name the authority by "
                      "bmc_ca, or compare the fingerprint at the BMC and write it as "
                      "bmc_certificate");
}

}  // namespace

absl::StatusOr<HttpsAnswer> CallHttps(const HttpsCall& call, const HttpsTrust& trust,
                                      const Cancelled& cancelled, const HttpsLimits& limits) {
  static absl::once_flag once;
  absl::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  const EasyHandle curl(curl_easy_init(), &curl_easy_cleanup);
  TextList headers(curl_slist_append(nullptr, "Expect:"), &curl_slist_free_all);
  const std::string if_match =
      absl::StrCat("If-Match:", call.if_match.empty() ? "" : " ", call.if_match);
  for (const char* header : {"Accept: application/json", "OData-Version: 4.0",
                             "Content-Type: application/json", if_match.c_str()}) {
    if (curl_slist* longer = curl_slist_append(headers.get(), header); longer != nullptr) {
      headers.release();
      headers.reset(longer);
    }
  }
  Transfer transfer{call, trust, cancelled, "", false, ""};
  char reason[CURL_ERROR_SIZE] = "";
  bool is_set_up = curl != nullptr;
  const auto set = [&](CURLoption option, auto value) {
    is_set_up = is_set_up && curl_easy_setopt(curl.get(), option, value) == CURLE_OK;
  };
  // A certificate that is named is trusted for whatever name it has.
  const bool checks_name = trust.is_verified && trust.certificate.empty();
  set(CURLOPT_URL, call.url.c_str());
  set(CURLOPT_ERRORBUFFER, reason);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_FOLLOWLOCATION, 0L);
// The bit masks are deprecated since libcurl 7.85; older versions support nothing else.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTPS));
#pragma GCC diagnostic pop
  // A password is not for a proxy to see, and BMCs are on the controller's own networks.
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_VERIFYPEER, trust.is_verified ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, checks_name ? 2L : 0L);
  set(CURLOPT_SSL_CTX_FUNCTION, &OnTlsContext);
  set(CURLOPT_SSL_CTX_DATA, static_cast<void*>(&transfer));
  if (!trust.ca.empty()) {
    curl_blob blob = {const_cast<char*>(trust.ca.data()), trust.ca.size(), CURL_BLOB_COPY};
    set(CURLOPT_CAINFO_BLOB, &blob);
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  set(CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(limits.connect));
  set(CURLOPT_TIMEOUT_MS, Milliseconds(limits.total));
  set(CURLOPT_USERAGENT, absl::StrCat("musterd/", kVersion).c_str());
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
  set(CURLOPT_USERNAME, call.user.c_str());
  if (call.password != nullptr) set(CURLOPT_PASSWORD, std::string(call.password->Reveal()).c_str());
  set(CURLOPT_CUSTOMREQUEST, call.method.c_str());
  if (!call.body.empty()) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
    set(CURLOPT_POSTFIELDS, call.body.c_str());
  }
  set(CURLOPT_WRITEFUNCTION, &OnData);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &OnTick);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&transfer));
  if (!is_set_up)
    return absl::InternalError(
        "libcurl refuses a setting; check that libcurl 7.77 or newer, with OpenSSL, is installed");

  const CURLcode code = curl_easy_perform(curl.get());
  HttpsAnswer answer;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  answer.body = std::move(transfer.body);
  if (code == CURLE_OK) return answer;
  if (transfer.is_too_long)
    return absl::FailedPreconditionError(
        absl::StrCat("its answer is longer than ", call.max_answer,
                     " bytes; check that bmc_address is that of a BMC"));
  if (code == CURLE_ABORTED_BY_CALLBACK) return absl::CancelledError("the call was stopped");
  if (code == CURLE_PEER_FAILED_VERIFICATION && !transfer.presented.empty())
    return absl::FailedPreconditionError(CertificateFault(transfer));
  const auto remedy = std::find_if(std::begin(kRemedies), std::end(kRemedies),
                                   [&](const Remedy& each) { return each.code == code; });
  return absl::UnavailableError(absl::StrCat(
      PlainText(*reason == '\0' ? curl_easy_strerror(code) : reason, Lines::kOne, kMaxReason),
      remedy == std::end(kRemedies) ? "" : absl::StrCat("; ", remedy->text)));
}

}  // namespace muster::controller::power
