#include "controller/service/run_service.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/run/run_events.h"
#include "controller/run/run_manager.h"
#include "controller/run/run_records.h"
#include "controller/service/front/refusal.h"
#include "controller/service/front/watch_reactor.h"
#include "controller/session/caller.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

absl::Status Validate(const v1::CreateRunRequest& request) {
  if (!request.plan_sha256().empty()) return absl::OkStatus();  // the plan file determines the rest
  if (request.playbook().empty()) {
    return absl::InvalidArgumentError("no playbook specified; e.g. playbooks/site.yaml");
  }
  if (request.bundle_sha256().empty()) {
    return absl::InvalidArgumentError("no bundle specified; upload the site first");
  }
  return absl::OkStatus();
}

// Together with the limit of 64 KiB each for output and diff, this limits a page.
constexpr uint32_t kResultsAtOnce = 100;
constexpr size_t kPageBytes = size_t{1} << 20;

absl::Status ValidateRunId(const std::string& run_id) {
  if (!run_id.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("no run specified; see `muster run list`");
}

}  // namespace

grpc::Status RunService::CreateRun(grpc::ServerContext* context,
                                   const v1::CreateRunRequest* request,
                                   v1::CreateRunResponse* response) {
  return Answer(CreateRun(*context, *request, *response), response);
}

grpc::Status RunService::PreviewRun(grpc::ServerContext* context,
                                    const v1::CreateRunRequest* request,
                                    v1::PreviewRunResponse* response) {
  return Answer(PreviewRun(*context, *request, *response), response);
}

grpc::Status RunService::GetRun(grpc::ServerContext*, const v1::GetRunRequest* request,
                                v1::GetRunResponse* response) {
  return ToGrpc(GetRun(*request, *response));
}

grpc::Status RunService::ListRuns(grpc::ServerContext*, const v1::ListRunsRequest* request,
                                  v1::ListRunsResponse* response) {
  return ToGrpc(ListRuns(*request, *response));
}

grpc::Status RunService::CancelRun(grpc::ServerContext* context,
                                   const v1::CancelRunRequest* request, v1::CancelRunResponse*) {
  return ToGrpc(CancelRun(*context, *request));
}

grpc::Status RunService::ListStepResults(grpc::ServerContext*,
                                         const v1::ListStepResultsRequest* request,
                                         v1::ListStepResultsResponse* response) {
  return ToGrpc(ListStepResults(*request, *response));
}

grpc::ServerWriteReactor<v1::RunEvent>* RunService::WatchRun(grpc::CallbackServerContext* context,
                                                             const v1::WatchRunRequest* request) {
  auto* reactor = new WatchReactor<v1::RunEvent>(
      calls_, context, "the controller is stopping, or its store does not answer");
  absl::StatusOr<std::shared_ptr<RunWatch>> watch = runs_.Watch(
      request->run_id(), request->after_sequence(), [reactor] { reactor->OnReady(); },
      request->changes_only() ? FeedPart::kChanges : FeedPart::kAll);
  if (watch.ok()) {
    reactor->Start(*std::move(watch));
  } else {
    reactor->Fail(watch.status());
  }
  return reactor;
}

absl::Status RunService::CreateRun(const grpc::ServerContext& context,
                                   const v1::CreateRunRequest& request,
                                   v1::CreateRunResponse& response) {
  RETURN_IF_ERROR(Validate(request));
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  absl::StatusOr<v1::Run> run = runs_.Create(
      request, {caller.ToActor(),
                {caller.identity.Actor(), caller.identity.serial, caller.identity.expires_at}});
  if (!run.ok()) {
    for (v1::BusyNodes& busy : BusyNodesOf(run.status())) *response.add_busy() = std::move(busy);
    return response.busy().empty() ? run.status() : absl::OkStatus();
  }
  *response.mutable_run() = *std::move(run);
  return absl::OkStatus();
}

absl::Status RunService::PreviewRun(const grpc::ServerContext& context,
                                    const v1::CreateRunRequest& request,
                                    v1::PreviewRunResponse& response) {
  RETURN_IF_ERROR(Validate(request));
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(const std::vector<std::string> nodes,
                   runs_.Preview(request, {caller.ToActor()}));
  response.set_cluster(cluster_);
  response.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  return absl::OkStatus();
}

absl::Status RunService::GetRun(const v1::GetRunRequest& request, v1::GetRunResponse& response) {
  RETURN_IF_ERROR(ValidateRunId(request.run_id()));
  return store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const RunRecord run, txn.runs().Get(request.run_id()));
    ASSIGN_OR_RETURN(const std::vector<RunNodeRecord> nodes,
                     txn.runs().ListNodes(request.run_id()));
    ASSIGN_OR_RETURN(const std::vector<RunValidationRecord> validations,
                     txn.run_validations().List(request.run_id()));
    *response.mutable_run() = ToProto(run, nodes);
    FillValidations(validations, *response.mutable_run());
    return absl::OkStatus();
  });
}

absl::Status RunService::ListRuns(const v1::ListRunsRequest& request,
                                  v1::ListRunsResponse& response) {
  const uint32_t limit =
      request.limit() == 0 ? kDefaultLimit : std::min(request.limit(), kMaxLimit);
  return store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<RunRecord> runs, txn.runs().List(limit));
    for (const RunRecord& run : runs) *response.add_runs() = ToProto(run, {});
    return absl::OkStatus();
  });
}

absl::Status RunService::CancelRun(const grpc::ServerContext& context,
                                   const v1::CancelRunRequest& request) {
  RETURN_IF_ERROR(ValidateRunId(request.run_id()));
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  return runs_.Cancel(request.run_id(), {caller.ToActor()});
}

absl::Status RunService::ListStepResults(const v1::ListStepResultsRequest& request,
                                         v1::ListStepResultsResponse& response) {
  RETURN_IF_ERROR(ValidateRunId(request.run_id()));
  StepResultQuery query;
  query.run_id = request.run_id();
  query.node = request.node();
  if (request.failed_only()) query.statuses = {v1::STEP_STATUS_FAILED};
  query.after_sequence = request.after_sequence();
  query.limit = kResultsAtOnce;
  // In pieces, so that neither the store nor a message holds the results of a thousand nodes at
  // once.
  for (size_t bytes = 0; bytes < kPageBytes;) {
    std::vector<StepResultRecord> records;
    RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
      RETURN_IF_ERROR(txn.runs().Get(request.run_id()).status());
      ASSIGN_OR_RETURN(records, txn.step_results().List(query));
      return absl::OkStatus();
    }));
    for (const StepResultRecord& record : records) {
      v1::NodeStepResult& result = *response.add_results();
      result.set_node(record.node);
      result.set_play_index(record.play_index);
      if (!result.mutable_result()->ParseFromString(record.result)) {
        return absl::DataLossError(absl::StrCat("the result of ", record.step_id, " on ",
                                                record.node, " is damaged in the store"));
      }
      bytes += record.result.size();
      query.after_sequence = record.sequence;
    }
    response.set_next_after_sequence(records.size() < query.limit ? 0 : query.after_sequence);
    if (records.size() < query.limit) break;
  }
  return absl::OkStatus();
}

}  // namespace muster::controller
