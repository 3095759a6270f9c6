#include "controller/service/token_service.h"

#include <utility>

#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/enrollment/enrollment.h"
#include "controller/service/front/request_rules.h"
#include "controller/session/caller.h"

namespace muster::controller {

TokenService::TokenService(Enrollment& enrollment, JoinInfo info)
    : enrollment_(enrollment), info_(std::move(info)) {}

grpc::Status TokenService::CreateToken(grpc::ServerContext* context,
                                       const v1::CreateTokenRequest* request,
                                       v1::CreateTokenResponse* response) {
  return ToGrpc(CreateToken(*context, *request, *response));
}

grpc::Status TokenService::ListTokens(grpc::ServerContext*, const v1::ListTokensRequest*,
                                      v1::ListTokensResponse* response) {
  return ToGrpc(ListTokens(*response));
}

grpc::Status TokenService::RevokeToken(grpc::ServerContext* context,
                                       const v1::RevokeTokenRequest* request,
                                       v1::RevokeTokenResponse*) {
  return ToGrpc(RevokeToken(*context, *request));
}

absl::Status TokenService::CreateToken(const grpc::ServerContext& context,
                                       const v1::CreateTokenRequest& request,
                                       v1::CreateTokenResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NodeNames(request.nodes()));
  ASSIGN_OR_RETURN(const absl::Duration ttl, TokenTtl(request));
  ASSIGN_OR_RETURN(const std::vector<v1::AgentPackage> packages, info_.packages());
  ASSIGN_OR_RETURN(
      const std::vector<NewToken> tokens,
      enrollment_.CreateTokens(names, ttl, request.require_approval(), caller.ToActor()));
  for (const NewToken& token : tokens) {
    v1::IssuedToken& issued = *response.add_tokens();
    issued.set_token_id(token.token_id);
    issued.set_node_name(token.node_name);
    issued.set_token(token.token);
    *issued.mutable_expires_at() = ToTimestamp(token.expires_at);
  }
  response.set_ca_pin(info_.ca_pin);
  response.set_enrollment_address(info_.enrollment_address);
  response.set_controller_address(info_.controller_address);
  response.mutable_packages()->Assign(packages.begin(), packages.end());
  return absl::OkStatus();
}

absl::Status TokenService::ListTokens(v1::ListTokensResponse& response) {
  ASSIGN_OR_RETURN(const std::vector<TokenRecord> tokens, enrollment_.ListTokens());
  for (const TokenRecord& record : tokens) {
    v1::Token& token = *response.add_tokens();
    token.set_token_id(record.token_id);
    token.set_node_name(record.node_name);
    token.set_created_by(record.created_by);
    token.set_require_approval(record.require_approval);
    *token.mutable_created_at() = ToTimestamp(record.created_at);
    *token.mutable_expires_at() = ToTimestamp(record.expires_at);
    if (record.used_at.has_value()) *token.mutable_used_at() = ToTimestamp(*record.used_at);
    if (record.revoked_at.has_value())
      *token.mutable_revoked_at() = ToTimestamp(*record.revoked_at);
  }
  return absl::OkStatus();
}

absl::Status TokenService::RevokeToken(const grpc::ServerContext& context,
                                       const v1::RevokeTokenRequest& request) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  return enrollment_.RevokeToken(request.token_id(), caller.ToActor());
}

}  // namespace muster::controller
