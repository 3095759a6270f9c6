// Join tokens, for administrators.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/v1/enrollment.grpc.pb.h"

namespace muster::controller {

class Enrollment;

// TokenService. Thread-safe.
class TokenService final : public v1::TokenService::Service {
 public:
  // The information that a join command needs besides its token.
  struct JoinInfo {
    std::string ca_pin;
    std::string enrollment_address;
    std::string controller_address;
    // The agent packages that are offered now, with their digests; may block for the disk.
    std::function<absl::StatusOr<std::vector<v1::AgentPackage>>()> packages;
  };

  // `enrollment` must outlive the object.
  TokenService(Enrollment& enrollment, JoinInfo info);

  grpc::Status CreateToken(grpc::ServerContext* context, const v1::CreateTokenRequest* request,
                           v1::CreateTokenResponse* response) override;
  grpc::Status ListTokens(grpc::ServerContext* context, const v1::ListTokensRequest* request,
                          v1::ListTokensResponse* response) override;
  grpc::Status RevokeToken(grpc::ServerContext* context, const v1::RevokeTokenRequest* request,
                           v1::RevokeTokenResponse* response) override;

 private:
  absl::Status CreateToken(const grpc::ServerContext& context,
                           const v1::CreateTokenRequest& request,
                           v1::CreateTokenResponse& response);
  absl::Status ListTokens(v1::ListTokensResponse& response);
  absl::Status RevokeToken(const grpc::ServerContext& context,
                           const v1::RevokeTokenRequest& request);

  Enrollment& enrollment_;
  const JoinInfo info_;
};

}  // namespace muster::controller
