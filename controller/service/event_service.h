// Reading the audit log.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/event.grpc.pb.h"

namespace muster::controller {

class Store;

// EventService. Thread-safe.
class EventService final : public v1::EventService::Service {
 public:
  static constexpr uint32_t kDefaultLimit = 50;
  static constexpr uint32_t kMaxLimit = 1000;

  // `store` must outlive the object.
  explicit EventService(Store& store) : store_(store) {}

  grpc::Status ListEvents(grpc::ServerContext* context, const v1::ListEventsRequest* request,
                          v1::ListEventsResponse* response) override;
  grpc::Status VerifyEvents(grpc::ServerContext* context, const v1::VerifyEventsRequest* request,
                            v1::VerifyEventsResponse* response) override;

 private:
  absl::Status ListEvents(const v1::ListEventsRequest& request, v1::ListEventsResponse& response);
  absl::Status VerifyEvents(v1::VerifyEventsResponse& response);

  Store& store_;
};

}  // namespace muster::controller
