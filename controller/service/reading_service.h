// What nodes measure now, for people.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/reading.grpc.pb.h"

namespace muster::controller {

class InventorySource;
class WatchedNodes;
class Store;

// ReadingService. Thread-safe.
class ReadingService final : public v1::ReadingService::Service {
 public:
  // The most nodes that a request with history may name.
  static constexpr size_t kMaxWithHistory = 16;

  // The references must outlive the object.
  ReadingService(WatchedNodes& readings, InventorySource& inventory, Store& store)
      : readings_(readings), inventory_(inventory), store_(store) {}

  grpc::Status GetReadings(grpc::ServerContext* context, const v1::GetReadingsRequest* request,
                           v1::GetReadingsResponse* response) override;

 private:
  absl::Status Get(const v1::GetReadingsRequest& request, v1::GetReadingsResponse& response);

  WatchedNodes& readings_;
  InventorySource& inventory_;
  Store& store_;
};

}  // namespace muster::controller
