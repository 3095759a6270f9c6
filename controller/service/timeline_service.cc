#include "controller/service/timeline_service.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/service/front/watch_reactor.h"
#include "controller/session/caller.h"
#include "controller/store/store.h"
#include "controller/timeline/timeline_watches.h"

namespace muster::controller {

grpc::Status TimelineService::ListTimeline(grpc::ServerContext*,
                                           const v1::ListTimelineRequest* request,
                                           v1::ListTimelineResponse* response) {
  return ToGrpc(List(*request, *response));
}

grpc::ServerWriteReactor<v1::TimelineEvent>* TimelineService::WatchTimeline(
    grpc::CallbackServerContext* context, const v1::WatchTimelineRequest* request) {
  auto* reactor =
      new WatchReactor<v1::TimelineEvent>(calls_, context, "the controller is stopping");
  absl::StatusOr<timeline::Query> query = timeline::QueryOf(request->filter());
  if (!query.ok()) {
    reactor->Fail(query.status());
    return reactor;
  }
  std::optional<v1::TimelinePosition> after;
  if (request->has_after()) after = request->after();
  absl::StatusOr<std::shared_ptr<timeline::TimelineWatch>> watch =
      watches_.Watch(*std::move(query), after, [reactor] { reactor->OnReady(); });
  if (watch.ok()) {
    reactor->Start(*std::move(watch));
  } else {
    reactor->Fail(watch.status());
  }
  return reactor;
}

absl::Status TimelineService::List(const v1::ListTimelineRequest& request,
                                   v1::ListTimelineResponse& response) {
  ASSIGN_OR_RETURN(const timeline::Query query, timeline::QueryOf(request.filter()));
  const uint32_t limit =
      request.limit() == 0 ? kDefaultLimit : std::min(request.limit(), timeline::kMaxEvents);
  std::optional<absl::Time> since;
  if (request.has_since()) since = clock_.Now() - ToDuration(request.since());
  timeline::Page page;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(*response.mutable_newest(), timeline::Newest(txn));
    v1::TimelinePosition before = request.before();
    if (!request.has_before()) {
      before.set_audit(response.newest().audit() + 1);
      before.set_health(response.newest().health() + 1);
      before.set_boot(response.newest().boot() + 1);
    }
    ASSIGN_OR_RETURN(page, timeline::ReadBackwards(txn, query, before, since, limit));
    return absl::OkStatus();
  }));
  for (v1::TimelineEvent& event : page.events) *response.add_events() = std::move(event);
  if (!page.is_last) *response.mutable_next() = page.position;
  return absl::OkStatus();
}

}  // namespace muster::controller
