#include "controller/service/health_service.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/health/hold.h"
#include "controller/audit/audit.h"
#include "controller/health/health_monitor.h"
#include "controller/inventory/health_policy.h"
#include "controller/inventory/inventory.h"
#include "controller/run/collaborators.h"
#include "controller/service/front/request_rules.h"
#include "controller/session/caller.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

v1::Silence ToProto(const HealthSilenceRecord& record) {
  v1::Silence silence;
  silence.set_silence_id(record.silence_id);
  silence.set_nodes(record.nodes);
  silence.set_condition(record.condition);
  *silence.mutable_until() = ToTimestamp(record.until);
  silence.set_reason(record.reason);
  silence.set_created_by(record.created_by);
  *silence.mutable_created_at() = ToTimestamp(record.created_at);
  return silence;
}

// "gpu_lost until 2026-11-27T08:00:00Z: fans are exchanged"
std::string Describe(const HealthSilenceRecord& record) {
  return absl::StrCat(record.condition.empty() ? "every condition" : record.condition, " until ",
                      absl::FormatTime(absl::RFC3339_sec, record.until, absl::UTCTimeZone()), ": ",
                      record.reason);
}

absl::Status CheckCondition(const Inventory& inventory, const std::string& name) {
  if (inventory.health().Knows(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("condition: unknown '", name, "'",
                                                 inventory.health().DidYouMean(name),
                                                 "; docs/health.md lists them"));
}

}  // namespace

grpc::Status HealthService::ListHealth(grpc::ServerContext*, const v1::ListHealthRequest* request,
                                       v1::ListHealthResponse* response) {
  return ToGrpc(List(*request, *response));
}

grpc::Status HealthService::ListConditionHistory(grpc::ServerContext*,
                                                 const v1::ListConditionHistoryRequest* request,
                                                 v1::ListConditionHistoryResponse* response) {
  return ToGrpc(History(*request, *response));
}

grpc::Status HealthService::CreateSilence(grpc::ServerContext* context,
                                          const v1::CreateSilenceRequest* request,
                                          v1::CreateSilenceResponse* response) {
  return ActAsCaller(*context,
                     [&](const Actor& actor) { return Create(actor, *request, *response); });
}

grpc::Status HealthService::ClearCondition(grpc::ServerContext* context,
                                           const v1::ClearConditionRequest* request,
                                           v1::ClearConditionResponse* response) {
  return ActAsCaller(*context,
                     [&](const Actor& actor) { return Clear(actor, *request, *response); });
}

grpc::Status HealthService::ListSilences(grpc::ServerContext*, const v1::ListSilencesRequest*,
                                         v1::ListSilencesResponse* response) {
  return ToGrpc(ListSilences(*response));
}

grpc::Status HealthService::DeleteSilence(grpc::ServerContext* context,
                                          const v1::DeleteSilenceRequest* request,
                                          v1::DeleteSilenceResponse* response) {
  return ActAsCaller(*context,
                     [&](const Actor& actor) { return Delete(actor, *request, *response); });
}

absl::Status HealthService::List(const v1::ListHealthRequest& request,
                                 v1::ListHealthResponse& response) {
  const absl::StatusOr<InventoryVersion> current = inventory_.Latest();
  if (!current.ok() && !(absl::IsNotFound(current.status()) && request.nodes().empty()))
    return current.status();
  absl::flat_hash_map<std::string, size_t> places;  // in the inventory, of those that are wanted
  if (current.ok()) {
    ASSIGN_OR_RETURN(
        const std::vector<const Node*> wanted,
        Select(*current->inventory, request.nodes().empty() ? "all" : request.nodes()));
    for (const Node* node : wanted) places.emplace(node->name, places.size());
  }
  ASSIGN_OR_RETURN(health::HealthSummary summary, monitor_.Summarize());
  std::vector<v1::NodeHealth*> nodes;
  for (v1::NodeHealth& node : summary.nodes) {
    const bool is_wanted = places.contains(node.node());
    if (!is_wanted && !request.nodes().empty()) continue;
    const bool is_ok = node.status() == v1::CONDITION_STATUS_OK;
    const bool is_bad = node.status() == v1::CONDITION_STATUS_BAD;
    response.set_ok(response.ok() + is_ok);
    response.set_bad(response.bad() + is_bad);
    response.set_unknown(response.unknown() + (!is_ok && !is_bad));
    // A node that is well, and that a condition still keeps out, has something to say.
    if (!is_ok || node.conditions_size() > 0 || request.all() || !request.nodes().empty())
      nodes.push_back(&node);
  }
  // Those that the inventory does not have any more come last, by name.
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](const v1::NodeHealth* a, const v1::NodeHealth* b) {
                     const auto place = [&](const v1::NodeHealth* node) {
                       const auto found = places.find(node->node());
                       return found == places.end() ? places.size() : found->second;
                     };
                     return place(a) < place(b);
                   });
  for (v1::NodeHealth* node : nodes) *response.add_nodes() = std::move(*node);
  for (v1::HealthBreaker& breaker : summary.breakers) *response.add_breakers() = std::move(breaker);
  response.set_observe_only(summary.observe_only);
  return absl::OkStatus();
}

absl::Status HealthService::History(const v1::ListConditionHistoryRequest& request,
                                    v1::ListConditionHistoryResponse& response) {
  const uint32_t limit =
      request.limit() == 0 ? kDefaultEvents : std::min(request.limit(), kMaxEvents);
  std::vector<std::string> nodes = {""};
  if (!request.nodes().empty()) {
    ASSIGN_OR_RETURN(nodes, NodeNames(request.nodes()));
  }
  const auto is_newer = [](const HealthEventRecord& a, const HealthEventRecord& b) {
    return a.sequence > b.sequence;
  };
  std::vector<HealthEventRecord> events;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    for (const std::string& node : nodes) {
      ASSIGN_OR_RETURN(std::vector<HealthEventRecord> some,
                       txn.health().ListEvents(node, request.condition(), limit));
      std::move(some.begin(), some.end(), std::back_inserter(events));
      if (events.size() <= size_t{2} * limit) continue;
      // Those of all nodes together may be a million.
      std::nth_element(events.begin(), events.begin() + limit, events.end(), is_newer);
      events.resize(limit);
    }
    return absl::OkStatus();
  }));
  std::sort(events.begin(), events.end(), is_newer);
  if (events.size() > limit) events.resize(limit);
  for (const HealthEventRecord& record : events) {
    v1::ConditionEvent& event = *response.add_events();
    *event.mutable_time() = ToTimestamp(record.time);
    event.set_node(record.node);
    if (!event.mutable_condition()->ParseFromString(record.event))
      return absl::DataLossError("the stored history of conditions is damaged");
  }
  return absl::OkStatus();
}

absl::Status HealthService::Create(const Actor& actor, const v1::CreateSilenceRequest& request,
                                   v1::CreateSilenceResponse& response) {
  RETURN_IF_ERROR(Validate(request));
  ASSIGN_OR_RETURN(const InventoryVersion current, inventory_.Latest());
  if (!request.condition().empty())
    RETURN_IF_ERROR(CheckCondition(*current.inventory, request.condition()));
  ASSIGN_OR_RETURN(const std::vector<const Node*> selected,
                   Select(*current.inventory, request.nodes()));
  if (selected.empty())
    return absl::InvalidArgumentError(absl::StrCat("nodes: '", request.nodes(), "' names none"));
  std::vector<std::string> names;
  for (const Node* node : selected) names.push_back(node->name);
  HealthSilenceRecord silence;
  silence.silence_id = NewShortId("s");
  silence.nodes = FoldHostlist(std::move(names));
  silence.condition = request.condition();
  silence.created_at = clock_.Now();
  silence.until = silence.created_at + ToDuration(request.length());
  silence.reason = request.reason();
  silence.created_by = actor.name;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<HealthSilenceRecord> all, txn.health().ListSilences());
    size_t in_force = 0;
    for (const HealthSilenceRecord& each : all) {
      if (each.until > silence.created_at) {
        ++in_force;
      } else {  // nobody lists it any more; the audit log has it
        RETURN_IF_ERROR(txn.health().RemoveSilence(each.silence_id));
      }
    }
    if (in_force >= kMaxSilences)
      return absl::ResourceExhaustedError(
          absl::StrCat("there are ", in_force, " silences; remove some: muster silence list"));
    RETURN_IF_ERROR(txn.health().PutSilence(silence));
    return Audit(txn, silence.created_at, actor, "silence.create", silence.nodes,
                 absl::StrCat(silence.silence_id, ": ", Describe(silence)));
  }));
  monitor_.Wake();
  *response.mutable_silence() = ToProto(silence);
  return absl::OkStatus();
}

absl::Status HealthService::Clear(const Actor& actor, const v1::ClearConditionRequest& request,
                                  v1::ClearConditionResponse& response) {
  RETURN_IF_ERROR(Validate(request));
  ASSIGN_OR_RETURN(const InventoryVersion current, inventory_.Latest());
  RETURN_IF_ERROR(CheckCondition(*current.inventory, request.condition()));
  if (!muster::health::HoldOf(request.condition()).has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat(request.condition(),
                     " ends by itself when it is good again; to leave it alone until then, ",
                     "run `muster silence add`"));
  }
  ASSIGN_OR_RETURN(const std::vector<const Node*> selected,
                   Select(*current.inventory, request.nodes()));
  absl::flat_hash_set<std::string> names;
  for (const Node* node : selected) names.insert(node->name);
  health::HealthMonitor::Bad bad = monitor_.FindBad(names, request.condition(), request.object());
  if (!bad.connected.empty()) {
    RETURN_IF_ERROR(store_.Update([&](Transaction& txn) {
      return Audit(txn, clock_.Now(), actor, "health.clear", FoldHostlist(bad.connected),
                   absl::StrCat(request.condition(), request.object().empty() ? "" : " ",
                                request.object(), ": ", request.reason()));
    }));
  }
  v1::ClearHealth message;
  message.set_condition(request.condition());
  message.set_object(request.object());
  const std::vector<std::string> told = monitor_.Clear(bad.connected, message);
  for (const std::string& name : bad.connected)
    if (std::find(told.begin(), told.end(), name) == told.end()) bad.away.push_back(name);
  response.set_cleared(FoldHostlist(told));
  response.set_away(FoldHostlist(std::move(bad.away)));
  return absl::OkStatus();
}

absl::Status HealthService::ListSilences(v1::ListSilencesResponse& response) {
  const absl::Time now = clock_.Now();
  return store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<HealthSilenceRecord> all, txn.health().ListSilences());
    for (const HealthSilenceRecord& each : all) {
      if (each.until > now) *response.add_silences() = ToProto(each);
    }
    return absl::OkStatus();
  });
}

absl::Status HealthService::Delete(const Actor& actor, const v1::DeleteSilenceRequest& request,
                                   v1::DeleteSilenceResponse& response) {
  const absl::Time now = clock_.Now();
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<HealthSilenceRecord> all, txn.health().ListSilences());
    const auto found = std::find_if(all.begin(), all.end(), [&](const HealthSilenceRecord& each) {
      return each.silence_id == request.silence_id() && each.until > now;
    });
    if (found == all.end())
      return absl::NotFoundError("no such silence is in force; see `muster silence list`");
    *response.mutable_silence() = ToProto(*found);
    RETURN_IF_ERROR(txn.health().RemoveSilence(found->silence_id));
    return Audit(txn, now, actor, "silence.delete", found->nodes,
                 absl::StrCat(found->silence_id, ": ", Describe(*found)));
  }));
  monitor_.Wake();
  return absl::OkStatus();
}

}  // namespace muster::controller
