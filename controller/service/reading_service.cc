#include "controller/service/reading_service.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/inventory/inventory.h"
#include "controller/reading/watched_nodes.h"
#include "controller/run/collaborators.h"
#include "controller/service/front/request_rules.h"
#include "controller/session/caller.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {

grpc::Status ReadingService::GetReadings(grpc::ServerContext*,
                                         const v1::GetReadingsRequest* request,
                                         v1::GetReadingsResponse* response) {
  return ToGrpc(Get(*request, *response));
}

absl::Status ReadingService::Get(const v1::GetReadingsRequest& request,
                                 v1::GetReadingsResponse& response) {
  ASSIGN_OR_RETURN(const InventoryVersion current, inventory_.Latest());
  ASSIGN_OR_RETURN(const std::vector<const Node*> nodes,
                   Select(*current.inventory, request.nodes().empty() ? "all" : request.nodes()));
  if (request.history() && nodes.size() > kMaxWithHistory) {
    return absl::InvalidArgumentError(absl::StrCat("history is of ", kMaxWithHistory,
                                                   " nodes at most, and '", request.nodes(),
                                                   "' names ", nodes.size()));
  }
  std::vector<NodeRecord> joined;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(joined, txn.nodes().List());
    return absl::OkStatus();
  }));
  absl::flat_hash_map<std::string, std::string> uuids;  // by name
  for (NodeRecord& record : joined) {
    if (record.state == NodeRecord::kEnrolled || record.state == NodeRecord::kConfigured)
      uuids[record.name] = std::move(record.uuid);
  }
  std::vector<std::string> machines;
  std::vector<v1::WatchedNode*> rows;
  std::set<std::string> racks;
  for (const Node* node : nodes) {
    v1::WatchedNode& row = *response.add_nodes();
    row.set_node(node->name);
    row.set_rack(node->rack);
    racks.insert(node->rack);
    if (const auto found = uuids.find(node->name); found != uuids.end()) {
      machines.push_back(found->second);
      rows.push_back(&row);
    }
  }
  const std::vector<WatchedReadings> read = readings_.Ask(machines, request.history());
  for (size_t i = 0; i < rows.size(); ++i) {
    v1::WatchedNode& row = *rows[i];
    row.set_connected(read[i].is_connected);
    if (read[i].newest.has_value()) {
      *row.mutable_read_at() = ToTimestamp(read[i].newest->at);
      *row.mutable_readings() = *read[i].newest->readings;
    }
    for (const TimedReading& before : read[i].history) {
      v1::TimedReadings& timed = *row.add_history();
      *timed.mutable_read_at() = ToTimestamp(before.at);
      *timed.mutable_readings() = *before.readings;
    }
  }
  *response.mutable_interval() = ToProtoDuration(readings_.interval());
  for (const Rack& rack : current.inventory->racks()) {
    if (racks.count(rack.name) == 0) continue;
    v1::WatchedRack& row = *response.add_racks();
    row.set_rack(rack.name);
    if (rack.power_limit_watts > 0)
      row.set_power_limit_watts(static_cast<uint32_t>(rack.power_limit_watts));
  }
  return absl::OkStatus();
}

}  // namespace muster::controller
