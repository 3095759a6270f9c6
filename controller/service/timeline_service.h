// The time line, for people.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/timeline.grpc.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller::timeline {
class TimelineWatches;
}

namespace muster::controller {

class OpenCalls;
class Store;

// TimelineService. Thread-safe. Watchers, which stay long and may be many, hold no thread.
class TimelineService final
    : public v1::TimelineService::WithCallbackMethod_WatchTimeline<v1::TimelineService::Service> {
 public:
  static constexpr uint32_t kDefaultLimit = 50;

  // The references must outlive the object.
  TimelineService(timeline::TimelineWatches& watches, Store& store, Clock& clock, OpenCalls& calls)
      : watches_(watches), store_(store), clock_(clock), calls_(calls) {}

  grpc::Status ListTimeline(grpc::ServerContext* context, const v1::ListTimelineRequest* request,
                            v1::ListTimelineResponse* response) override;
  grpc::ServerWriteReactor<v1::TimelineEvent>* WatchTimeline(
      grpc::CallbackServerContext* context, const v1::WatchTimelineRequest* request) override;

 private:
  absl::Status List(const v1::ListTimelineRequest& request, v1::ListTimelineResponse& response);

  timeline::TimelineWatches& watches_;
  Store& store_;
  Clock& clock_;
  OpenCalls& calls_;
};

}  // namespace muster::controller
