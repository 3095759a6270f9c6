// The health of nodes, for people.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/health.grpc.pb.h"

namespace muster {
class Clock;
}
namespace muster::controller::health {
class HealthMonitor;
}

namespace muster::controller {

class InventorySource;
class Store;
struct Actor;

// HealthService. Thread-safe.
class HealthService final : public v1::HealthService::Service {
 public:
  static constexpr uint32_t kDefaultEvents = 100;
  static constexpr uint32_t kMaxEvents = 1000;
  // In force at once; a silence covers any number of nodes.
  static constexpr size_t kMaxSilences = 1000;

  // The references must outlive the object.
  HealthService(health::HealthMonitor& monitor, InventorySource& inventory, Store& store,
                Clock& clock)
      : monitor_(monitor), inventory_(inventory), store_(store), clock_(clock) {}

  grpc::Status ListHealth(grpc::ServerContext* context, const v1::ListHealthRequest* request,
                          v1::ListHealthResponse* response) override;
  grpc::Status ListConditionHistory(grpc::ServerContext* context,
                                    const v1::ListConditionHistoryRequest* request,
                                    v1::ListConditionHistoryResponse* response) override;
  grpc::Status CreateSilence(grpc::ServerContext* context, const v1::CreateSilenceRequest* request,
                             v1::CreateSilenceResponse* response) override;
  grpc::Status ClearCondition(grpc::ServerContext* context,
                              const v1::ClearConditionRequest* request,
                              v1::ClearConditionResponse* response) override;
  grpc::Status ListSilences(grpc::ServerContext* context, const v1::ListSilencesRequest* request,
                            v1::ListSilencesResponse* response) override;
  grpc::Status DeleteSilence(grpc::ServerContext* context, const v1::DeleteSilenceRequest* request,
                             v1::DeleteSilenceResponse* response) override;

  // The calls for silences, for whoever `actor` is.
  absl::Status Create(const Actor& actor, const v1::CreateSilenceRequest& request,
                      v1::CreateSilenceResponse& response);
  absl::Status Delete(const Actor& actor, const v1::DeleteSilenceRequest& request,
                      v1::DeleteSilenceResponse& response);

 private:
  absl::Status List(const v1::ListHealthRequest& request, v1::ListHealthResponse& response);
  absl::Status History(const v1::ListConditionHistoryRequest& request,
                       v1::ListConditionHistoryResponse& response);
  absl::Status Clear(const Actor& actor, const v1::ClearConditionRequest& request,
                     v1::ClearConditionResponse& response);
  absl::Status ListSilences(v1::ListSilencesResponse& response);

  health::HealthMonitor& monitor_;
  InventorySource& inventory_;
  Store& store_;
  Clock& clock_;
};

}  // namespace muster::controller
