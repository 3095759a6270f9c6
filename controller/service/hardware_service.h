// Hardware files, for people.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/validation/suite/catalog_names.h"
#include "muster/v1/hardware.grpc.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller {

class Inventory;
class Store;

// HardwareService. Thread-safe. Reads the files in the request and the results in the store, and
// changes neither.
class HardwareService final : public v1::HardwareService::Service {
 public:
  using LatestInventory = std::function<absl::StatusOr<std::shared_ptr<const Inventory>>()>;

  static constexpr uint32_t kMaxModels = 1000;

  // The references must outlive the object.
  HardwareService(Store& store, Clock& clock, validation::Catalog catalog,
                  LatestInventory latest_inventory)
      : store_(store),
        clock_(clock),
        catalog_(catalog),
        latest_inventory_(std::move(latest_inventory)) {}

  grpc::Status ReadHardware(grpc::ServerContext* context, const v1::ReadHardwareRequest* request,
                            v1::ReadHardwareResponse* response) override;
  grpc::Status LearnHardware(grpc::ServerContext* context, const v1::LearnHardwareRequest* request,
                             v1::LearnHardwareResponse* response) override;

 private:
  absl::Status Read(const v1::ReadHardwareRequest& request, v1::ReadHardwareResponse& response);
  absl::Status Learn(const grpc::ServerContext& context, const v1::LearnHardwareRequest& request,
                     v1::LearnHardwareResponse& response);

  Store& store_;
  Clock& clock_;
  const validation::Catalog catalog_;
  const LatestInventory latest_inventory_;
  // Somebody is learning: that takes a number for each GPU and metric, so one at a time is enough.
  std::atomic<bool> learning_ = false;
};

}  // namespace muster::controller
