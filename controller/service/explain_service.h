// Explains to people why values and steps are as they are.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "controller/playbook/explain/explain.h"
#include "controller/run/collaborators.h"
#include "muster/v1/explain.grpc.pb.h"

namespace muster::controller {

class SecretStore;
class Store;

// ExplainService. Thread-safe. Changes nothing; reads only the names of secrets.
class ExplainService final : public v1::ExplainService::Service {
 public:
  using LoadBundle = std::function<absl::StatusOr<FileTree>(const std::string& sha256)>;

  // The references must outlive the object. `offer`: as in RunCollaborators.
  ExplainService(Store& store, InventorySource& inventory, SecretStore& secrets,
                 LoadBundle load_bundle, std::function<ControllerOffer()> offer)
      : store_(store),
        inventory_(inventory),
        secrets_(secrets),
        load_bundle_(std::move(load_bundle)),
        offer_(std::move(offer)) {}

  grpc::Status ExplainVariable(grpc::ServerContext* context,
                               const v1::ExplainVariableRequest* request,
                               v1::ExplainVariableResponse* response) override;
  grpc::Status ExplainStep(grpc::ServerContext* context, const v1::ExplainStepRequest* request,
                           v1::ExplainStepResponse* response) override;

 private:
  // The common input of both explanations; fills `facts` with what all nodes reported.
  absl::StatusOr<InventoryVersion> Prepare(FactsByNode& facts,
                                           std::map<std::string, std::string>& secrets);
  absl::StatusOr<std::shared_ptr<const Playbook>> Load(const std::string& sha256,
                                                       const std::string& path);
  absl::Status ExplainVariable(const v1::ExplainVariableRequest& request,
                               v1::ExplainVariableResponse& response);
  absl::Status ExplainStep(const v1::ExplainStepRequest& request,
                           v1::ExplainStepResponse& response);
  // Looks for the newest result of each step on the node.
  absl::Status AddLastResults(const std::string& node, v1::ExplainStepResponse& response);

  Store& store_;
  InventorySource& inventory_;
  SecretStore& secrets_;
  const LoadBundle load_bundle_;
  const std::function<ControllerOffer()> offer_;
};

}  // namespace muster::controller
