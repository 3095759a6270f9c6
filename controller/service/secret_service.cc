#include "controller/service/secret_service.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/run/secret_rotation.h"
#include "controller/secret/secret_store.h"
#include "controller/service/front/refusal.h"
#include "controller/session/caller.h"

namespace muster::controller {

grpc::Status SecretService::SetSecret(grpc::ServerContext* context,
                                      const v1::SetSecretRequest* request,
                                      v1::SetSecretResponse* response) {
  return ToGrpc(SetSecret(*context, *request, *response));
}

grpc::Status SecretService::GenerateSecret(grpc::ServerContext* context,
                                           const v1::GenerateSecretRequest* request,
                                           v1::GenerateSecretResponse* response) {
  return ToGrpc(GenerateSecret(*context, *request, *response));
}

grpc::Status SecretService::ListSecrets(grpc::ServerContext*, const v1::ListSecretsRequest*,
                                        v1::ListSecretsResponse* response) {
  return ToGrpc(ListSecrets(*response));
}

grpc::Status SecretService::RotateSecret(grpc::ServerContext* context,
                                         const v1::RotateSecretRequest* request,
                                         v1::RotateSecretResponse* response) {
  return Answer(RotateSecret(*context, *request, *response), response);
}

grpc::Status SecretService::AdvanceRotation(grpc::ServerContext* context,
                                            const v1::AdvanceRotationRequest* request,
                                            v1::AdvanceRotationResponse* response) {
  return ToGrpc(AdvanceRotation(*context, *request, *response));
}

grpc::Status SecretService::SetSecretRoles(grpc::ServerContext* context,
                                           const v1::SetSecretRolesRequest* request,
                                           v1::SetSecretRolesResponse*) {
  return ToGrpc(SetRoles(*context, *request));
}

grpc::Status SecretService::RemoveSecret(grpc::ServerContext* context,
                                         const v1::RemoveSecretRequest* request,
                                         v1::RemoveSecretResponse*) {
  return ToGrpc(Remove(*context, *request));
}

absl::Status SecretService::SetSecret(const grpc::ServerContext& context,
                                      const v1::SetSecretRequest& request,
                                      v1::SetSecretResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(
      const uint32_t version,
      secrets_.Set(request.name(), SecretBuffer(request.value()),
                   {request.roles().begin(), request.roles().end()}, caller.ToActor()));
  response.set_version(version);
  return absl::OkStatus();
}

absl::Status SecretService::GenerateSecret(const grpc::ServerContext& context,
                                           const v1::GenerateSecretRequest& request,
                                           v1::GenerateSecretResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(
      const uint32_t version,
      secrets_.Generate(request.name(), request.bytes(), request.replace(),
                        {request.roles().begin(), request.roles().end()}, caller.ToActor()));
  response.set_version(version);
  return absl::OkStatus();
}

absl::Status SecretService::ListSecrets(v1::ListSecretsResponse& response) {
  ASSIGN_OR_RETURN(const std::vector<SecretInfo> secrets, secrets_.List());
  for (const SecretInfo& secret : secrets) {
    v1::SecretInfo& info = *response.add_secrets();
    info.set_name(secret.name);
    info.set_version(secret.version);
    info.set_updated_by(secret.updated_by);
    *info.mutable_updated_at() = ToTimestamp(secret.updated_at);
    for (const absl::string_view role : absl::StrSplit(secret.roles, ',', absl::SkipEmpty()))
      info.add_roles(std::string(role));
    if (secret.rotation.has_value()) *info.mutable_rotation() = ToProto(*secret.rotation);
  }
  return absl::OkStatus();
}

absl::Status SecretService::RotateSecret(const grpc::ServerContext& context,
                                         const v1::RotateSecretRequest& request,
                                         v1::RotateSecretResponse& response) {
  if (request.action() == v1::ROTATION_ACTION_UNSPECIFIED)
    return absl::InvalidArgumentError("no action specified: start, resume or abandon");
  if (request.site_playbook().empty() || request.bundle_sha256().empty())
    return absl::InvalidArgumentError("no site specified; upload it first");
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(response, rotations_.Rotate(request, caller.ToActor()));
  return absl::OkStatus();
}

absl::Status SecretService::AdvanceRotation(const grpc::ServerContext& context,
                                            const v1::AdvanceRotationRequest& request,
                                            v1::AdvanceRotationResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(response, rotations_.Advance(request, caller.ToActor()));
  return absl::OkStatus();
}

absl::Status SecretService::SetRoles(const grpc::ServerContext& context,
                                     const v1::SetSecretRolesRequest& request) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  return secrets_.SetRoles(request.name(), {request.roles().begin(), request.roles().end()},
                           caller.ToActor());
}

absl::Status SecretService::Remove(const grpc::ServerContext& context,
                                   const v1::RemoveSecretRequest& request) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  if (!request.even_if_read()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> places, rotations_.PlacesOf(request.name()));
    if (!places.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the site that was applied last reads secret ", request.name(), " at ",
          absl::StrJoin(places, ", "),
          ": remove it there first, or pass --force; with bytes= the next apply makes another "
          "value, and programs that share the old one can no longer talk to each other"));
    }
  }
  return secrets_.Remove(request.name(), caller.ToActor());
}

}  // namespace muster::controller
