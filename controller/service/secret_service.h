// Secrets: set, generated, listed, rotated; never returned.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/secret.grpc.pb.h"

namespace muster::controller {

class SecretRotations;
class SecretStore;

// SecretService. Thread-safe.
class SecretService final : public v1::SecretService::Service {
 public:
  // Both must outlive the object.
  SecretService(SecretStore& secrets, SecretRotations& rotations)
      : secrets_(secrets), rotations_(rotations) {}

  grpc::Status SetSecret(grpc::ServerContext* context, const v1::SetSecretRequest* request,
                         v1::SetSecretResponse* response) override;
  grpc::Status GenerateSecret(grpc::ServerContext* context,
                              const v1::GenerateSecretRequest* request,
                              v1::GenerateSecretResponse* response) override;
  grpc::Status ListSecrets(grpc::ServerContext* context, const v1::ListSecretsRequest* request,
                           v1::ListSecretsResponse* response) override;
  grpc::Status RotateSecret(grpc::ServerContext* context, const v1::RotateSecretRequest* request,
                            v1::RotateSecretResponse* response) override;
  grpc::Status AdvanceRotation(grpc::ServerContext* context,
                               const v1::AdvanceRotationRequest* request,
                               v1::AdvanceRotationResponse* response) override;
  grpc::Status SetSecretRoles(grpc::ServerContext* context,
                              const v1::SetSecretRolesRequest* request,
                              v1::SetSecretRolesResponse* response) override;
  grpc::Status RemoveSecret(grpc::ServerContext* context, const v1::RemoveSecretRequest* request,
                            v1::RemoveSecretResponse* response) override;

 private:
  absl::Status SetSecret(const grpc::ServerContext& context, const v1::SetSecretRequest& request,
                         v1::SetSecretResponse& response);
  absl::Status GenerateSecret(const grpc::ServerContext& context,
                              const v1::GenerateSecretRequest& request,
                              v1::GenerateSecretResponse& response);
  absl::Status ListSecrets(v1::ListSecretsResponse& response);
  absl::Status RotateSecret(const grpc::ServerContext& context,
                            const v1::RotateSecretRequest& request,
                            v1::RotateSecretResponse& response);
  absl::Status AdvanceRotation(const grpc::ServerContext& context,
                               const v1::AdvanceRotationRequest& request,
                               v1::AdvanceRotationResponse& response);
  absl::Status SetRoles(const grpc::ServerContext& context,
                        const v1::SetSecretRolesRequest& request);
  absl::Status Remove(const grpc::ServerContext& context, const v1::RemoveSecretRequest& request);

  SecretStore& secrets_;
  SecretRotations& rotations_;
};

}  // namespace muster::controller
