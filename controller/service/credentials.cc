#include "controller/service/credentials.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "controller/service/call_gate.h"

namespace muster::controller {
namespace {

absl::StatusOr<std::string> Read(const std::string& path) {
  absl::StatusOr<std::string> content = sys::RealFileSystem().Read(path);
  if (content.ok()) return content;
  return Annotate(content.status(), "run `muster init` to make the controller's credentials");
}

}  // namespace

absl::StatusOr<TlsIdentity> LoadTlsIdentity(const std::string& folder) {
  TlsIdentity identity;
  ASSIGN_OR_RETURN(identity.certificate_pem, Read(absl::StrCat(folder, "/controller.crt")));
  ASSIGN_OR_RETURN(identity.key_pem, Read(absl::StrCat(folder, "/controller.key")));
  ASSIGN_OR_RETURN(identity.ca_pem, Read(absl::StrCat(folder, "/ca.crt")));
  return identity;
}

void RequireTls13() {
  setenv("GRPC_SSL_CIPHER_SUITES", "ECDHE-RSA-AES256-GCM-SHA384", /*overwrite=*/1);
}

std::shared_ptr<grpc::ServerCredentials> MutualTlsCredentials(const TlsIdentity& identity,
                                                              const Denylist& denylist) {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = identity.ca_pem;
  options.pem_key_cert_pairs.push_back({identity.key_pem, identity.certificate_pem});
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::SslServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::make_shared<CallGate>(denylist));
  return credentials;
}

std::shared_ptr<grpc::ServerCredentials> ServerTlsCredentials(const TlsIdentity& identity) {
  grpc::SslServerCredentialsOptions options(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  // The CA's own certificate goes along: a joining machine checks the chain against the pin.
  options.pem_key_cert_pairs.push_back(
      {identity.key_pem, absl::StrCat(identity.certificate_pem, identity.ca_pem)});
  return grpc::SslServerCredentials(options);
}

}  // namespace muster::controller
