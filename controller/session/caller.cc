#include "controller/session/caller.h"

#include <memory>
#include <vector>

#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "controller/enrollment/enrollment.h"

namespace muster::controller {
namespace {

absl::StatusOr<std::string> CertificateOf(const grpc::AuthContext& context) {
  const std::vector<grpc::string_ref> pems = context.FindPropertyValues("x509_pem_cert");
  if (!context.IsPeerAuthenticated() || pems.size() != 1)
    return absl::UnauthenticatedError("a client certificate of this cluster is needed");
  return std::string(pems[0].data(), pems[0].size());
}

}  // namespace

Actor Caller::ToActor() const { return {identity.Actor(), peer}; }

absl::StatusOr<Identity> IdentityOf(const grpc::AuthContext& context) {
  ASSIGN_OR_RETURN(const std::string pem, CertificateOf(context));
  ASSIGN_OR_RETURN(const pki::Certificate certificate, pki::ParseCertificate(pem));
  return IdentityOf(certificate);
}

absl::StatusOr<Caller> CallerOf(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  Caller caller;
  ASSIGN_OR_RETURN(caller.certificate_pem, CertificateOf(*auth));
  ASSIGN_OR_RETURN(const pki::Certificate certificate,
                   pki::ParseCertificate(caller.certificate_pem));
  ASSIGN_OR_RETURN(caller.identity, IdentityOf(certificate));
  caller.peer = context.peer();
  return caller;
}

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace muster::controller
