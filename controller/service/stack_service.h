// Stacks, for people.
#pragma once

#include "absl/status/status.h"
#include "controller/run/collaborators.h"
#include "muster/v1/stack.grpc.pb.h"

namespace muster::controller {

class Store;

// StackService. Thread-safe. Reads the files in the request, the inventory and the facts, and
// changes nothing.
class StackService final : public v1::StackService::Service {
 public:
  // The references must outlive the object.
  StackService(Store& store, InventorySource& inventory) : store_(store), inventory_(inventory) {}

  grpc::Status ReadStacks(grpc::ServerContext* context, const v1::ReadStacksRequest* request,
                          v1::ReadStacksResponse* response) override;
  grpc::Status CheckStacks(grpc::ServerContext* context, const v1::CheckStacksRequest* request,
                           v1::CheckStacksResponse* response) override;
  grpc::Status DiffStacks(grpc::ServerContext* context, const v1::DiffStacksRequest* request,
                          v1::DiffStacksResponse* response) override;

 private:
  absl::Status Read(const v1::ReadStacksRequest& request, v1::ReadStacksResponse& response);
  absl::Status Check(const v1::CheckStacksRequest& request, v1::CheckStacksResponse& response);
  absl::Status Diff(const v1::DiffStacksRequest& request, v1::DiffStacksResponse& response);

  Store& store_;
  InventorySource& inventory_;
};

}  // namespace muster::controller
