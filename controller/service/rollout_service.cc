#include "controller/service/rollout_service.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "controller/rollout/plan/rollout_step.h"
#include "controller/rollout/rollout_manager.h"
#include "controller/rollout/rollout_records.h"
#include "controller/rollout/update_policies.h"
#include "controller/run/run_engine.h"
#include "controller/service/front/refusal.h"
#include "controller/service/front/request_rules.h"
#include "controller/service/front/watch_reactor.h"
#include "controller/session/caller.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxReasonBytes = 1024;

absl::Status CheckId(const std::string& rollout_id) {
  if (!rollout_id.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("no rollout specified; see `muster rollout list`");
}

absl::StatusOr<RunActor> ActorOf(const grpc::ServerContext& context) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  RunActor actor;
  static_cast<Actor&>(actor) = caller.ToActor();
  actor.mandate = {caller.identity.Actor(), caller.identity.serial, caller.identity.expires_at};
  return actor;
}

}  // namespace

grpc::Status RolloutService::CreateRollout(grpc::ServerContext* context,
                                           const v1::CreateRolloutRequest* request,
                                           v1::CreateRolloutResponse* response) {
  return Answer(CreateRollout(*context, *request, *response), response);
}

grpc::Status RolloutService::PreviewRollout(grpc::ServerContext* context,
                                            const v1::CreateRolloutRequest* request,
                                            v1::PreviewRolloutResponse* response) {
  return Answer(PreviewRollout(*context, *request, *response), response);
}

grpc::Status RolloutService::GetRollout(grpc::ServerContext*, const v1::GetRolloutRequest* request,
                                        v1::GetRolloutResponse* response) {
  return ToGrpc(GetRollout(*request, *response));
}

grpc::Status RolloutService::ListRollouts(grpc::ServerContext*,
                                          const v1::ListRolloutsRequest* request,
                                          v1::ListRolloutsResponse* response) {
  return ToGrpc(ListRollouts(*request, *response));
}

grpc::ServerWriteReactor<v1::RolloutEvent>* RolloutService::WatchRollout(
    grpc::CallbackServerContext* context, const v1::WatchRolloutRequest* request) {
  auto* reactor = new WatchReactor<v1::RolloutEvent>(
      calls_, context, "the controller is stopping, or its store does not answer");
  absl::StatusOr<std::shared_ptr<rollout::RolloutWatch>> watch = rollouts_.Watch(
      request->rollout_id(), request->after_sequence(), [reactor] { reactor->OnReady(); });
  if (watch.ok()) {
    reactor->Start(*std::move(watch));
  } else {
    reactor->Fail(watch.status());
  }
  return reactor;
}

grpc::Status RolloutService::PauseRollout(grpc::ServerContext* context,
                                          const v1::ChangeRolloutRequest* request,
                                          v1::ChangeRolloutResponse* response) {
  return ActAsCaller(*context, [&](const Actor& actor) {
    return Change(actor, *request, rollout::RolloutEvent::kPaused, *response);
  });
}

grpc::Status RolloutService::ResumeRollout(grpc::ServerContext* context,
                                           const v1::ChangeRolloutRequest* request,
                                           v1::ChangeRolloutResponse* response) {
  return ActAsCaller(*context, [&](const Actor& actor) {
    return Change(actor, *request, rollout::RolloutEvent::kResumed, *response);
  });
}

grpc::Status RolloutService::AbortRollout(grpc::ServerContext* context,
                                          const v1::ChangeRolloutRequest* request,
                                          v1::ChangeRolloutResponse* response) {
  return ActAsCaller(*context, [&](const Actor& actor) {
    return Change(actor, *request, rollout::RolloutEvent::kAborted, *response);
  });
}

grpc::Status RolloutService::RollBackRollout(grpc::ServerContext* context,
                                             const v1::ChangeRolloutRequest* request,
                                             v1::ChangeRolloutResponse* response) {
  return ActAsCaller(*context, [&](const Actor& actor) {
    return Change(actor, *request, rollout::RolloutEvent::kRolledBack, *response);
  });
}

grpc::Status RolloutService::ExplainRolloutNode(grpc::ServerContext*,
                                                const v1::ExplainRolloutNodeRequest* request,
                                                v1::ExplainRolloutNodeResponse* response) {
  return ToGrpc(ExplainRolloutNode(*request, *response));
}

grpc::Status RolloutService::ListUpdatePolicies(grpc::ServerContext*,
                                                const v1::ListUpdatePoliciesRequest*,
                                                v1::ListUpdatePoliciesResponse* response) {
  return ToGrpc(ListUpdatePolicies(*response));
}

absl::Status RolloutService::CreateRollout(const grpc::ServerContext& context,
                                           const v1::CreateRolloutRequest& request,
                                           v1::CreateRolloutResponse& response) {
  RETURN_IF_ERROR(Validate(request));
  ASSIGN_OR_RETURN(const RunActor actor, ActorOf(context));
  ASSIGN_OR_RETURN(*response.mutable_rollout(), rollouts_.Create(request, actor));
  return absl::OkStatus();
}

absl::Status RolloutService::PreviewRollout(const grpc::ServerContext& context,
                                            const v1::CreateRolloutRequest& request,
                                            v1::PreviewRolloutResponse& response) {
  RETURN_IF_ERROR(Validate(request));
  ASSIGN_OR_RETURN(const RunActor actor, ActorOf(context));
  ASSIGN_OR_RETURN(response, rollouts_.Preview(request, actor));
  response.set_cluster(cluster_);
  return absl::OkStatus();
}

absl::Status RolloutService::GetRollout(const v1::GetRolloutRequest& request,
                                        v1::GetRolloutResponse& response) {
  RETURN_IF_ERROR(CheckId(request.rollout_id()));
  return store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(*response.mutable_rollout(),
                     rollout::ReadRollout(txn, request.rollout_id(), /*with_events=*/true));
    return absl::OkStatus();
  });
}

absl::Status RolloutService::ListRollouts(const v1::ListRolloutsRequest& request,
                                          v1::ListRolloutsResponse& response) {
  const uint32_t limit =
      request.limit() == 0 ? kDefaultLimit : std::min(request.limit(), kMaxLimit);
  return store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<RolloutRecord> rows, txn.rollouts().List(limit));
    for (const RolloutRecord& row : rows) {
      ASSIGN_OR_RETURN(*response.add_rollouts(),
                       rollout::ReadRollout(txn, row.rollout_id, /*with_events=*/false));
    }
    return absl::OkStatus();
  });
}

absl::Status RolloutService::Change(const Actor& actor, const v1::ChangeRolloutRequest& request,
                                    rollout::RolloutEvent event,
                                    v1::ChangeRolloutResponse& response) {
  RETURN_IF_ERROR(CheckId(request.rollout_id()));
  if (request.reason().size() > kMaxReasonBytes)
    return absl::InvalidArgumentError("reason: at most 1024 bytes");
  ASSIGN_OR_RETURN(*response.mutable_rollout(),
                   rollouts_.Change(request.rollout_id(), event, request.reason(), actor));
  return absl::OkStatus();
}

absl::Status RolloutService::ExplainRolloutNode(const v1::ExplainRolloutNodeRequest& request,
                                                v1::ExplainRolloutNodeResponse& response) {
  if (request.node().empty()) return absl::InvalidArgumentError("no node specified");
  ASSIGN_OR_RETURN(response, rollouts_.Explain(request.node(), request.rollout_id()));
  return absl::OkStatus();
}

absl::Status RolloutService::ListUpdatePolicies(v1::ListUpdatePoliciesResponse& response) {
  ASSIGN_OR_RETURN(const std::vector<v1::UpdatePolicy> policies, policies_.List());
  response.mutable_policies()->Assign(policies.begin(), policies.end());
  return absl::OkStatus();
}

}  // namespace muster::controller
