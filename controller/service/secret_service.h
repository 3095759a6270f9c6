// Secrets: set, made, listed; never given back.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/secret.grpc.pb.h"

namespace muster::controller {

class SecretStore;

// SecretService. Thread-safe.
class SecretService final : public v1::SecretService::Service {
 public:
  // `secrets` must outlive the object.
  explicit SecretService(SecretStore& secrets) : secrets_(secrets) {}

  grpc::Status SetSecret(grpc::ServerContext* context, const v1::SetSecretRequest* request,
                         v1::SetSecretResponse* response) override;
  grpc::Status GenerateSecret(grpc::ServerContext* context,
                              const v1::GenerateSecretRequest* request,
                              v1::GenerateSecretResponse* response) override;
  grpc::Status ListSecrets(grpc::ServerContext* context, const v1::ListSecretsRequest* request,
                           v1::ListSecretsResponse* response) override;

 private:
  absl::Status SetSecret(const grpc::ServerContext& context, const v1::SetSecretRequest& request,
                         v1::SetSecretResponse& response);
  absl::Status GenerateSecret(const grpc::ServerContext& context,
                              const v1::GenerateSecretRequest& request,
                              v1::GenerateSecretResponse& response);
  absl::Status ListSecrets(v1::ListSecretsResponse& response);

  SecretStore& secrets_;
};

}  // namespace muster::controller
