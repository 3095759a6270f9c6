#include "controller/service/user_service.h"

#include <utility>

#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/enrollment/enrollment.h"
#include "controller/enrollment/users.h"
#include "controller/session/caller.h"

namespace muster::controller {

UserService::UserService(Users& users, std::string ca_pem, std::string controller_address)
    : users_(users),
      ca_pem_(std::move(ca_pem)),
      controller_address_(std::move(controller_address)) {}

grpc::Status UserService::CreateUser(grpc::ServerContext* context,
                                     const v1::CreateUserRequest* request,
                                     v1::CreateUserResponse* response) {
  return ToGrpc(CreateUser(*context, *request, *response));
}

grpc::Status UserService::ListUsers(grpc::ServerContext*, const v1::ListUsersRequest*,
                                    v1::ListUsersResponse* response) {
  return ToGrpc(ListUsers(*response));
}

grpc::Status UserService::RevokeUser(grpc::ServerContext* context,
                                     const v1::RevokeUserRequest* request,
                                     v1::RevokeUserResponse* response) {
  return ToGrpc(RevokeUser(*context, *request, *response));
}

grpc::Status UserService::RenewUser(grpc::ServerContext* context,
                                    const v1::RenewUserRequest* request,
                                    v1::RenewUserResponse* response) {
  return ToGrpc(RenewUser(*context, *request, *response));
}

absl::Status UserService::CreateUser(const grpc::ServerContext& context,
                                     const v1::CreateUserRequest& request,
                                     v1::CreateUserResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(const Role role, ParseRole(request.role()));
  ASSIGN_OR_RETURN(*response.mutable_certificate_pem(),
                   users_.Create(request.name(), role, request.csr_pem(), caller.ToActor()));
  response.set_ca_pem(ca_pem_);
  response.set_controller_address(controller_address_);
  return absl::OkStatus();
}

absl::Status UserService::ListUsers(v1::ListUsersResponse& response) {
  ASSIGN_OR_RETURN(const std::vector<CertificateRecord> records, users_.List());
  for (const CertificateRecord& record : records) {
    v1::UserCertificate& certificate = *response.add_certificates();
    certificate.set_name(record.user);
    certificate.set_role(record.role);
    certificate.set_serial(record.serial);
    *certificate.mutable_expires_at() = ToTimestamp(record.not_after);
    if (record.revoked_at.has_value())
      *certificate.mutable_revoked_at() = ToTimestamp(*record.revoked_at);
  }
  return absl::OkStatus();
}

absl::Status UserService::RevokeUser(const grpc::ServerContext& context,
                                     const v1::RevokeUserRequest& request,
                                     v1::RevokeUserResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(const UserRevocation denied,
                   users_.Revoke(caller.identity, request.name(), caller.ToActor()));
  response.set_certificates(denied.certificates);
  response.set_is_unknown(!denied.is_known);
  return absl::OkStatus();
}

absl::Status UserService::RenewUser(const grpc::ServerContext& context,
                                    const v1::RenewUserRequest& request,
                                    v1::RenewUserResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(*response.mutable_certificate_pem(),
                   users_.Renew(caller.identity, request.csr_pem(), caller.ToActor()));
  response.set_ca_pem(ca_pem_);
  return absl::OkStatus();
}

}  // namespace muster::controller
