// Drift, for people.
#pragma once

#include "absl/status/status.h"
#include "controller/run/collaborators.h"
#include "muster/v1/drift.grpc.pb.h"

namespace muster::controller::drift {
class DriftChecks;
}

namespace muster::controller {

// DriftService. Thread-safe.
class DriftService final : public v1::DriftService::Service {
 public:
  // The references must outlive the object.
  DriftService(drift::DriftChecks& checks, InventorySource& inventory)
      : checks_(checks), inventory_(inventory) {}

  grpc::Status ListDrift(grpc::ServerContext* context, const v1::ListDriftRequest* request,
                         v1::ListDriftResponse* response) override;

 private:
  absl::Status List(const v1::ListDriftRequest& request, v1::ListDriftResponse& response);

  drift::DriftChecks& checks_;
  InventorySource& inventory_;
};

}  // namespace muster::controller
