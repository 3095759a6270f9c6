#include "controller/web/endpoints.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/value/proto_value.h"
#include "controller/http/http_message.h"
#include "controller/service/event_service.h"
#include "controller/service/health_service.h"
#include "controller/service/node_service.h"
#include "controller/service/reading_service.h"
#include "controller/service/rollout_service.h"
#include "controller/service/run_service.h"
#include "controller/service/timeline_service.h"
#include "controller/service/validation_service.h"
#include "controller/web/collaborators.h"
#include "controller/web/json_text.h"
#include "controller/web/pair_maps.h"

namespace muster::controller {
namespace {

using JsonText = absl::StatusOr<std::string>;

// Rows of a list, and of the one on a node's page.
constexpr uint32_t kListed = 50;
constexpr uint32_t kListedOfNode = 10;

// The answer as `muster -o json` shows it.
template <typename Service, typename Base, typename Request, typename Response>
JsonText Answer(Service& service,
                grpc::Status (Base::*call)(grpc::ServerContext*, const Request*, Response*),
                const Request& request) {
  Response response;
  const grpc::Status status = (service.*call)(nullptr, &request, &response);
  if (!status.ok()) {
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }
  return ToJsonText(ProtoToValue(response));
}

JsonText GetNode(const WebCollaborators& with, const HttpRequest& request) {
  v1::GetNodeRequest call;
  call.set_name(std::string(request.Query("name")));
  return Answer(with.nodes, &NodeService::GetNode, call);
}

JsonText GetFacts(const WebCollaborators& with, const HttpRequest& request) {
  v1::GetNodeFactsRequest call;
  call.set_name(std::string(request.Query("name")));
  return Answer(with.nodes, &NodeService::GetNodeFacts, call);
}

JsonText ListRuns(const WebCollaborators& with, const HttpRequest&) {
  v1::ListRunsRequest call;
  call.set_limit(kListed);
  return Answer(with.runs, &RunService::ListRuns, call);
}

JsonText GetRun(const WebCollaborators& with, const HttpRequest& request) {
  v1::GetRunRequest call;
  call.set_run_id(std::string(request.Query("id")));
  return Answer(with.runs, &RunService::GetRun, call);
}

JsonText ListFailedSteps(const WebCollaborators& with, const HttpRequest& request) {
  v1::ListStepResultsRequest call;
  call.set_run_id(std::string(request.Query("id")));
  call.set_failed_only(true);
  return Answer(with.runs, &RunService::ListStepResults, call);
}

JsonText ListRollouts(const WebCollaborators& with, const HttpRequest&) {
  v1::ListRolloutsRequest call;
  call.set_limit(kListed);
  return Answer(with.rollouts, &RolloutService::ListRollouts, call);
}

JsonText GetRollout(const WebCollaborators& with, const HttpRequest& request) {
  v1::GetRolloutRequest call;
  call.set_rollout_id(std::string(request.Query("id")));
  return Answer(with.rollouts, &RolloutService::GetRollout, call);
}

JsonText ListValidations(const WebCollaborators& with, const HttpRequest& request) {
  v1::ListValidationsRequest call;
  call.set_node(std::string(request.Query("node")));
  call.set_limit(call.node().empty() ? kListed : kListedOfNode);
  return Answer(with.validations, &ValidationService::ListValidations, call);
}

JsonText GetValidation(const WebCollaborators& with, const HttpRequest& request) {
  v1::GetValidationRequest call;
  call.set_validation_id(std::string(request.Query("id")));
  return Answer(with.validations, &ValidationService::GetValidation, call);
}

JsonText GetPairs(const WebCollaborators& with, const HttpRequest& request) {
  return PairMaps(with.validations, request.Query("id"));
}

// A place in a list, which a page of it has named.
absl::StatusOr<uint64_t> NumberOf(const HttpRequest& request, const char* name) {
  const absl::string_view word = request.Query(name);
  uint64_t place = 0;
  if (!word.empty() && !absl::SimpleAtoi(word, &place))
    return absl::InvalidArgumentError(absl::StrCat(name, " must be a number: '", word, "'"));
  return place;
}

JsonText ListHealth(const WebCollaborators& with, const HttpRequest& request) {
  v1::ListHealthRequest call;
  call.set_nodes(std::string(request.Query("nodes")));
  return Answer(with.health, &HealthService::ListHealth, call);
}

// The readings of the node whose page is open.
JsonText GetReadings(const WebCollaborators& with, const HttpRequest& request) {
  v1::GetReadingsRequest call;
  call.set_nodes(std::string(request.Query("name")));
  call.set_history(true);
  return Answer(with.readings, &ReadingService::GetReadings, call);
}

JsonText ListTimeline(const WebCollaborators& with, const HttpRequest& request) {
  v1::ListTimelineRequest call;
  call.set_limit(kListed);
  call.mutable_filter()->set_nodes(std::string(request.Query("nodes")));
  if (const absl::string_view kind = request.Query("kind"); !kind.empty())
    call.mutable_filter()->add_kinds(std::string(kind));
  ASSIGN_OR_RETURN(const uint64_t audit, NumberOf(request, "audit"));
  ASSIGN_OR_RETURN(const uint64_t health, NumberOf(request, "health"));
  ASSIGN_OR_RETURN(const uint64_t boot, NumberOf(request, "boot"));
  if (!request.Query("audit").empty()) {
    call.mutable_before()->set_audit(audit);
    call.mutable_before()->set_health(health);
    call.mutable_before()->set_boot(boot);
  }
  return Answer(with.timeline, &TimelineService::ListTimeline, call);
}

JsonText ListEvents(const WebCollaborators& with, const HttpRequest& request) {
  v1::ListEventsRequest call;
  ASSIGN_OR_RETURN(const uint64_t sequence, NumberOf(request, "before"));
  call.set_before_sequence(sequence);
  call.set_limit(2 * kListed);
  return Answer(with.events, &EventService::ListEvents, call);
}

constexpr Endpoint kEndpoints[] = {
    {"/api/audit", "/muster.v1.EventService/ListEvents", ListEvents},
    {"/api/health", "/muster.v1.HealthService/ListHealth", ListHealth},
    {"/api/node", "/muster.v1.NodeService/GetNode", GetNode},
    {"/api/node/facts", "/muster.v1.NodeService/GetNodeFacts", GetFacts},
    {"/api/readings", "/muster.v1.ReadingService/GetReadings", GetReadings},
    {"/api/rollout", "/muster.v1.RolloutService/GetRollout", GetRollout},
    {"/api/rollouts", "/muster.v1.RolloutService/ListRollouts", ListRollouts},
    {"/api/run", "/muster.v1.RunService/GetRun", GetRun},
    {"/api/run/failed", "/muster.v1.RunService/ListStepResults", ListFailedSteps},
    {"/api/runs", "/muster.v1.RunService/ListRuns", ListRuns},
    {"/api/timeline", "/muster.v1.TimelineService/ListTimeline", ListTimeline},
    {"/api/validation", "/muster.v1.ValidationService/GetValidation", GetValidation},
    {"/api/validation/pairs", "/muster.v1.ValidationService/ListCheckResults", GetPairs},
    {"/api/validations", "/muster.v1.ValidationService/ListValidations", ListValidations},
};

}  // namespace

absl::Span<const Endpoint> Endpoints() { return kEndpoints; }

}  // namespace muster::controller
