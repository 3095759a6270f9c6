// Drift, for people.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/run/collaborators.h"
#include "muster/v1/drift.grpc.pb.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::drift {
class DriftChecks;
}

namespace muster::controller {

class AgentSessions;
class FactsKeeper;
class Store;

// DriftService. Thread-safe.
class DriftService final : public v1::DriftService::Service {
 public:
  // The references must outlive the object.
  DriftService(drift::DriftChecks& checks, InventorySource& inventory, Store& store,
               AgentSessions& sessions, FactsKeeper& facts)
      : checks_(checks), inventory_(inventory), store_(store), sessions_(sessions), facts_(facts) {}

  grpc::Status ListDrift(grpc::ServerContext* context, const v1::ListDriftRequest* request,
                         v1::ListDriftResponse* response) override;
  grpc::Status CompareNodes(grpc::ServerContext* context, const v1::CompareNodesRequest* request,
                            v1::CompareNodesResponse* response) override;

 private:
  absl::Status List(const v1::ListDriftRequest& request, v1::ListDriftResponse& response);
  absl::Status Compare(const v1::CompareNodesRequest& request, v1::CompareNodesResponse& response);
  // Asks the node, as drift::NamePackages() wants it; waits for its answer.
  absl::StatusOr<v1::PackageFacts> PackagesOf(const std::string& person, const std::string& node);

  drift::DriftChecks& checks_;
  InventorySource& inventory_;
  Store& store_;
  AgentSessions& sessions_;
  FactsKeeper& facts_;
};

}  // namespace muster::controller
