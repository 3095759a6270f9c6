// What nodes boot from the network, for people.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "muster/v1/boot.grpc.pb.h"

namespace muster::controller {

class InventorySource;
namespace boot {
class Boots;
}

// BootService. Thread-safe.
class BootService final : public v1::BootService::Service {
 public:
  // The references must outlive the object. `is_serving`: whether there is a boot server.
  BootService(boot::Boots& boots, InventorySource& inventory, bool is_serving)
      : boots_(boots), inventory_(inventory), is_serving_(is_serving) {}

  grpc::Status ListBoots(grpc::ServerContext* context, const v1::ListBootsRequest* request,
                         v1::ListBootsResponse* response) override;
  grpc::Status ListUnknownMachines(grpc::ServerContext* context,
                                   const v1::ListUnknownMachinesRequest* request,
                                   v1::ListUnknownMachinesResponse* response) override;
  grpc::Status SetBoot(grpc::ServerContext* context, const v1::SetBootRequest* request,
                       v1::SetBootResponse* response) override;
  grpc::Status ClearBoot(grpc::ServerContext* context, const v1::ClearBootRequest* request,
                         v1::ClearBootResponse* response) override;

 private:
  absl::Status List(const v1::ListBootsRequest& request, v1::ListBootsResponse& response);

  boot::Boots& boots_;
  InventorySource& inventory_;
  const bool is_serving_;
};

}  // namespace muster::controller
