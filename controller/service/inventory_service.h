// The inventory, for people.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/v1/inventory.grpc.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller {

struct Actor;
class Inventory;
class Store;

// InventoryService. Thread-safe.
class InventoryService final : public v1::InventoryService::Service {
 public:
  // The limit for the files of an inventory together.
  static constexpr size_t kMaxBytes = size_t{3} << 20;

  // The references must outlive the object. `cluster` is that of controller.yaml.
  InventoryService(Store& store, Clock& clock, std::string cluster)
      : store_(store), clock_(clock), cluster_(std::move(cluster)) {}

  grpc::Status CheckInventory(grpc::ServerContext* context,
                              const v1::CheckInventoryRequest* request,
                              v1::CheckInventoryResponse* response) override;
  grpc::Status ApplyInventory(grpc::ServerContext* context,
                              const v1::ApplyInventoryRequest* request,
                              v1::ApplyInventoryResponse* response) override;
  grpc::Status GetInventory(grpc::ServerContext* context, const v1::GetInventoryRequest* request,
                            v1::GetInventoryResponse* response) override;
  grpc::Status DiffInventory(grpc::ServerContext* context, const v1::DiffInventoryRequest* request,
                             v1::DiffInventoryResponse* response) override;

  // The calls without their transport.
  absl::Status Check(const v1::CheckInventoryRequest& request,
                     v1::CheckInventoryResponse& response);
  absl::Status Apply(const v1::ApplyInventoryRequest& request, const Actor& actor,
                     v1::ApplyInventoryResponse& response);
  absl::Status Get(const v1::GetInventoryRequest& request, v1::GetInventoryResponse& response);
  absl::Status Diff(const v1::DiffInventoryRequest& request, v1::DiffInventoryResponse& response);

 private:
  // The revision in force, or 0 with an empty inventory when there is none or this version cannot
  // read it any more.
  absl::StatusOr<uint64_t> Latest(Inventory& inventory);
  // The names in `nodes` whose machines have joined.
  absl::StatusOr<std::vector<std::string>> MembersOf(const std::vector<std::string>& nodes);

  Store& store_;
  Clock& clock_;
  const std::string cluster_;
};

}  // namespace muster::controller
