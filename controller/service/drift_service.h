// Drift, for people.
#pragma once

#include "absl/status/status.h"
#include "controller/run/collaborators.h"
#include "muster/v1/drift.grpc.pb.h"

namespace muster::controller::drift {
class DriftChecks;
}

namespace muster::controller {

class Store;

// DriftService. Thread-safe.
class DriftService final : public v1::DriftService::Service {
 public:
  // The references must outlive the object.
  DriftService(drift::DriftChecks& checks, InventorySource& inventory, Store& store)
      : checks_(checks), inventory_(inventory), store_(store) {}

  grpc::Status ListDrift(grpc::ServerContext* context, const v1::ListDriftRequest* request,
                         v1::ListDriftResponse* response) override;
  grpc::Status CompareNodes(grpc::ServerContext* context, const v1::CompareNodesRequest* request,
                            v1::CompareNodesResponse* response) override;

 private:
  absl::Status List(const v1::ListDriftRequest& request, v1::ListDriftResponse& response);
  absl::Status Compare(const v1::CompareNodesRequest& request, v1::CompareNodesResponse& response);

  drift::DriftChecks& checks_;
  InventorySource& inventory_;
  Store& store_;
};

}  // namespace muster::controller
