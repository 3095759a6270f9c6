#include "controller/service/front/credentials.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include <openssl/bio.h>
#include <openssl/conf.h>
#include <openssl/ssl.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "controller/service/front/call_gate.h"

namespace muster::controller {
namespace {

absl::StatusOr<std::string> Read(const std::string& path) {
  absl::StatusOr<std::string> content = sys::RealFileSystem().Read(path);
  if (content.ok()) return content;
  return Annotate(content.status(), "run `muster init` to make the controller's credentials");
}

// As in an openssl.cnf: applies to all contexts of this process.
constexpr char kOpenSslConfig[] = R"(
openssl_conf = modules
[modules]
ssl_conf = contexts
[contexts]
system_default = without_tickets
[without_tickets]
NumTickets = 0
)";

absl::Status ForbidTickets() {
  // The machine's own configuration is loaded first: loaded later, it would replace ours.
  OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, nullptr);
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(BIO_new_mem_buf(kOpenSslConfig, -1),
                                                       BIO_free);
  const std::unique_ptr<CONF, decltype(&NCONF_free)> config(NCONF_new(nullptr), NCONF_free);
  const bool is_loaded = NCONF_load_bio(config.get(), text.get(), nullptr) == 1 &&
                         CONF_modules_load(config.get(), nullptr, 0) == 1;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_method()),
                                                                  SSL_CTX_free);
  if (is_loaded && context != nullptr && SSL_CTX_get_num_tickets(context.get()) == 0)
    return absl::OkStatus();
  return absl::InternalError("OpenSSL does not let its session tickets be turned off");
}

}  // namespace

absl::StatusOr<TlsIdentity> LoadTlsIdentity(const std::string& folder) {
  TlsIdentity identity;
  ASSIGN_OR_RETURN(identity.certificate_pem, Read(absl::StrCat(folder, "/controller.crt")));
  ASSIGN_OR_RETURN(identity.key_pem, Read(absl::StrCat(folder, "/controller.key")));
  ASSIGN_OR_RETURN(identity.ca_pem, Read(absl::StrCat(folder, "/ca.crt")));
  return identity;
}

absl::Status HardenTls() {
  setenv("GRPC_SSL_CIPHER_SUITES", "ECDHE-RSA-AES256-GCM-SHA384", /*overwrite=*/1);
  return ForbidTickets();
}

std::shared_ptr<grpc::ServerCredentials> MutualTlsCredentials(const TlsIdentity& identity,
                                                              const Denylist& denylist,
                                                              Clock& clock, CallShares& shares) {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = identity.ca_pem;
  options.pem_key_cert_pairs.push_back({identity.key_pem, identity.certificate_pem});
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::SslServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::make_shared<CallGate>(denylist, clock, shares));
  return credentials;
}

std::shared_ptr<grpc::ServerCredentials> ServerTlsCredentials(const TlsIdentity& identity) {
  grpc::SslServerCredentialsOptions options(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  // Includes the CA's own certificate: a joining machine checks the chain against the pin.
  options.pem_key_cert_pairs.push_back(
      {identity.key_pem, absl::StrCat(identity.certificate_pem, identity.ca_pem)});
  return grpc::SslServerCredentials(options);
}

}  // namespace muster::controller
