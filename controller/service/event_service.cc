#include "controller/service/event_service.h"

#include <algorithm>
#include <vector>

#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/session/caller.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {

grpc::Status EventService::ListEvents(grpc::ServerContext*, const v1::ListEventsRequest* request,
                                      v1::ListEventsResponse* response) {
  return ToGrpc(ListEvents(*request, *response));
}

grpc::Status EventService::VerifyEvents(grpc::ServerContext*, const v1::VerifyEventsRequest*,
                                        v1::VerifyEventsResponse* response) {
  return ToGrpc(VerifyEvents(*response));
}

absl::Status EventService::ListEvents(const v1::ListEventsRequest& request,
                                      v1::ListEventsResponse& response) {
  const uint32_t limit =
      request.limit() == 0 ? kDefaultLimit : std::min(request.limit(), kMaxLimit);
  std::vector<EventRecord> events;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(events, txn.events().List(limit, request.before_sequence()));
    return absl::OkStatus();
  }));
  for (const EventRecord& record : events) {
    v1::Event& event = *response.add_events();
    event.set_sequence(record.sequence);
    *event.mutable_time() = ToTimestamp(record.time);
    event.set_actor(record.actor);
    event.set_peer(record.peer);
    event.set_action(record.action);
    event.set_subject(record.subject);
    event.set_detail(record.detail);
    event.set_hash(record.hash);
  }
  return absl::OkStatus();
}

absl::Status EventService::VerifyEvents(v1::VerifyEventsResponse& response) {
  return store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::optional<uint64_t> broken, txn.events().FirstBroken());
    ASSIGN_OR_RETURN(const uint64_t entries, txn.events().Count());
    response.set_intact(!broken.has_value());
    response.set_entries(entries);
    if (broken.has_value()) response.set_first_broken(*broken);
    return absl::OkStatus();
  });
}

}  // namespace muster::controller
