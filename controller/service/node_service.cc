#include "controller/service/node_service.h"
#include "controller/gate/job_gate.h"
#include "controller/gate/node_holds.h"
#include "controller/gate/slurm_jobs.h"
#include "controller/slurm/slurm_control.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/nearest_word.h"
#include "controller/enrollment/enrollment.h"
#include "controller/health/health_monitor.h"
#include "controller/inventory/inventory.h"
#include "controller/inventory/self_join.h"
#include "controller/rollout/plan/rollout_step.h"
#include "controller/rollout/rollout_records.h"
#include "controller/run/collaborators.h"
#include "controller/service/front/request_rules.h"
#include "controller/service/node_listing.h"
#include "controller/session/agent_sessions.h"
#include "controller/session/caller.h"
#include "controller/session/facts_keeper.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

// The number of nodes of a kind that the status names.
constexpr int kMaxNamed = 20;
// Failures that an administrator may not know about yet.
constexpr absl::Duration kFailuresShown = absl::Hours(24);
constexpr int kMaxFailedRuns = 5;
constexpr uint32_t kRecentRuns = 100;

absl::StatusOr<v1::StatusWork> WorkOf(Transaction& txn, const RunRecord& run) {
  v1::StatusWork work;
  v1::CreateRunRequest request;
  request.ParseFromString(run.request);
  work.set_id(run.run_id);
  work.set_what(request.playbook());
  work.set_created_by(run.created_by);
  work.set_check_only(request.check_only());
  *work.mutable_created_at() = ToTimestamp(run.created_at);
  if (run.finished_at.has_value()) *work.mutable_finished_at() = ToTimestamp(*run.finished_at);
  ASSIGN_OR_RETURN(const std::vector<RunNodeRecord> nodes, txn.runs().ListNodes(run.run_id));
  std::vector<std::string> names;
  for (const RunNodeRecord& node : nodes) {
    const bool is_bad = node.state == "failed" || node.state == "unreachable";
    if (is_bad || run.state != RunRecord::kFailed) names.push_back(node.node);
  }
  work.set_nodes(FoldHostlist(std::move(names)));
  return work;
}

absl::StatusOr<v1::StatusWork> WorkOf(Transaction& txn, const ValidationRecord& validation) {
  v1::StatusWork work;
  work.set_id(validation.validation_id);
  work.set_what(validation.suite);
  work.set_created_by(validation.created_by);
  *work.mutable_created_at() = ToTimestamp(validation.created_at);
  ASSIGN_OR_RETURN(const std::vector<ValidationNodeRecord> nodes,
                   txn.validations().ListNodes(validation.validation_id));
  std::vector<std::string> names;
  for (const ValidationNodeRecord& node : nodes) {
    if (!node.is_witness) names.push_back(node.node);
  }
  work.set_nodes(FoldHostlist(std::move(names)));
  return work;
}

absl::StatusOr<v1::StatusWork> WorkOf(Transaction& txn, const RolloutRecord& rollout) {
  v1::StatusWork work;
  work.set_id(rollout.rollout_id);
  work.set_what(absl::StrCat(rollout::RequestOf(rollout).playbook(), ", ",
                             rollout::StateName(static_cast<v1::RolloutState>(rollout.state)),
                             rollout.message.empty() ? "" : absl::StrCat(": ", rollout.message)));
  work.set_created_by(rollout.created_by);
  *work.mutable_created_at() = ToTimestamp(rollout.created_at);
  ASSIGN_OR_RETURN(const auto nodes, txn.rollouts().ListNodes(rollout.rollout_id));
  std::vector<std::string> names;
  for (const RolloutNodeRecord& node : nodes) names.push_back(node.node);
  work.set_nodes(FoldHostlist(std::move(names)));
  return work;
}

absl::Status FillWork(Transaction& txn, absl::Time now, v1::GetStatusResponse& response) {
  ASSIGN_OR_RETURN(const std::vector<RunRecord> runs, txn.runs().ListRunning());
  for (const RunRecord& run : runs) {
    ASSIGN_OR_RETURN(*response.add_runs(), WorkOf(txn, run));
  }
  ASSIGN_OR_RETURN(const std::vector<ValidationRecord> validations,
                   txn.validations().ListRunning());
  for (const ValidationRecord& validation : validations) {
    ASSIGN_OR_RETURN(*response.add_validations(), WorkOf(txn, validation));
  }
  ASSIGN_OR_RETURN(const std::vector<RolloutRecord> rollouts, txn.rollouts().ListOpen());
  for (const RolloutRecord& rollout : rollouts) {
    ASSIGN_OR_RETURN(*response.add_rollouts(), WorkOf(txn, rollout));
  }
  ASSIGN_OR_RETURN(const std::vector<RunRecord> recent, txn.runs().List(kRecentRuns));
  for (const RunRecord& run : recent) {
    if (run.state != RunRecord::kFailed || !run.finished_at.has_value() ||
        *run.finished_at < now - kFailuresShown)
      continue;
    ASSIGN_OR_RETURN(*response.add_failed_runs(), WorkOf(txn, run));
    if (response.failed_runs_size() == kMaxFailedRuns) break;
  }
  return absl::OkStatus();
}

}  // namespace

NodeService::NodeService(Store& store, InventorySource& inventory, Enrollment& enrollment,
                         AgentSessions& sessions, FactsKeeper& facts, slurm::SlurmControl& slurm,
                         validation::JobGate& gate, health::HealthMonitor& health, About about)
    : store_(store),
      inventory_(inventory),
      enrollment_(enrollment),
      sessions_(sessions),
      facts_(facts),
      slurm_(slurm),
      gate_(gate),
      health_(health),
      about_(std::move(about)) {}

grpc::Status NodeService::ListNodes(grpc::ServerContext*, const v1::ListNodesRequest* request,
                                    v1::ListNodesResponse* response) {
  return ToGrpc(ListNodes(*request, *response));
}

grpc::Status NodeService::GetNode(grpc::ServerContext*, const v1::GetNodeRequest* request,
                                  v1::GetNodeResponse* response) {
  return ToGrpc(GetNode(*request, *response));
}

grpc::Status NodeService::GetNodeFacts(grpc::ServerContext* context,
                                       const v1::GetNodeFactsRequest* request,
                                       v1::GetNodeFactsResponse* response) {
  return ToGrpc(GetNodeFacts(context, *request, *response));
}

grpc::Status NodeService::ApproveNode(grpc::ServerContext* context,
                                      const v1::ApproveNodeRequest* request,
                                      v1::ApproveNodeResponse* response) {
  return ToGrpc(ApproveNode(*context, *request, *response));
}

grpc::Status NodeService::RemoveNode(grpc::ServerContext* context,
                                     const v1::RemoveNodeRequest* request,
                                     v1::RemoveNodeResponse* response) {
  return ToGrpc(RemoveNode(*context, *request, *response));
}

grpc::Status NodeService::DrainNodes(grpc::ServerContext* context,
                                     const v1::DrainNodesRequest* request,
                                     v1::DrainNodesResponse* response) {
  return ActAsCaller(*context,
                     [&](const Actor& actor) { return Drain(actor, *request, *response); });
}

grpc::Status NodeService::ResumeNodes(grpc::ServerContext* context,
                                      const v1::ResumeNodesRequest* request,
                                      v1::ResumeNodesResponse* response) {
  return ActAsCaller(*context,
                     [&](const Actor& actor) { return Resume(actor, *request, *response); });
}

grpc::Status NodeService::ListNodeJobs(grpc::ServerContext*, const v1::ListNodeJobsRequest* request,
                                       v1::ListNodeJobsResponse* response) {
  return ToGrpc(ListNodeJobs(*request, *response));
}

grpc::Status NodeService::GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                                    v1::GetStatusResponse* response) {
  const absl::StatusOr<std::vector<v1::Node>> nodes = ListWithoutDetails();
  return ToGrpc(nodes.ok() ? FillStatus(*nodes, *response) : nodes.status());
}

absl::StatusOr<InventoryVersion> NodeService::InventoryIfAny() {
  absl::StatusOr<InventoryVersion> current = inventory_.Latest();
  if (absl::IsNotFound(current.status())) return InventoryVersion();
  return current;
}

absl::Status NodeService::ListNodes(const v1::ListNodesRequest& request,
                                    v1::ListNodesResponse& response) {
  ASSIGN_OR_RETURN(const InventoryVersion current, InventoryIfAny());
  absl::flat_hash_set<std::string> selected;
  if (!request.selector().empty()) {
    if (current.inventory == nullptr) return inventory_.Latest().status();
    ASSIGN_OR_RETURN(const std::vector<const Node*> nodes,
                     Select(*current.inventory, request.selector()));
    for (const Node* node : nodes) selected.insert(node->name);
  }
  ASSIGN_OR_RETURN(std::vector<v1::Node> nodes, AllNodes(current));
  if (!request.selector().empty()) {
    nodes.erase(
        std::remove_if(nodes.begin(), nodes.end(),
                       [&](const v1::Node& node) { return !selected.contains(node.name()); }),
        nodes.end());
  }
  RETURN_IF_ERROR(AddDetails(store_, nodes));
  for (v1::Node& node : nodes) *response.add_nodes() = std::move(node);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<v1::Node>> NodeService::ListWithoutDetails() {
  ASSIGN_OR_RETURN(const InventoryVersion current, InventoryIfAny());
  return AllNodes(current);
}

absl::StatusOr<std::vector<v1::Node>> NodeService::AllNodes(const InventoryVersion& inventory) {
  ASSIGN_OR_RETURN(std::vector<v1::Node> nodes,
                   ListAllNodes(store_, sessions_, inventory.inventory.get()));
  for (v1::Node& node : nodes) {
    node.set_service(gate_.ServiceOf(node.name()));
  }
  return nodes;
}

absl::Status NodeService::GetNode(const v1::GetNodeRequest& request,
                                  v1::GetNodeResponse& response) {
  ASSIGN_OR_RETURN(const InventoryVersion current, InventoryIfAny());
  ASSIGN_OR_RETURN(std::vector<v1::Node> nodes, AllNodes(current));
  std::vector<std::string> names;
  for (v1::Node& node : nodes) {
    if (node.name() == request.name()) {
      std::vector<v1::Node> found = {std::move(node)};
      RETURN_IF_ERROR(AddDetails(store_, found));
      *response.mutable_node() = std::move(found[0]);
      return absl::OkStatus();
    }
    names.push_back(node.name());
  }
  return absl::NotFoundError(
      absl::StrCat("no node '", request.name(), "'", DidYouMean(request.name(), names)));
}

absl::Status NodeService::GetNodeFacts(const grpc::ServerContext* context,
                                       const v1::GetNodeFactsRequest& request,
                                       v1::GetNodeFactsResponse& response) {
  NodeRecord record;
  std::string reported;
  const auto read = [&] {
    return store_.View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(record, txn.nodes().GetByName(request.name()));
      ASSIGN_OR_RETURN(reported, txn.nodes().Facts(record.uuid));
      return absl::OkStatus();
    });
  };
  absl::Status found = read();
  if (absl::IsNotFound(found))
    return absl::NotFoundError(
        absl::StrCat("node ", request.name(), " is not enrolled; see `muster node list`"));
  RETURN_IF_ERROR(found);
  if (request.refresh()) {
    ASSIGN_OR_RETURN(const Caller caller, CallerOf(*context));
    absl::Status refreshed =
        facts_.Refresh(sessions_, record.uuid, caller.identity.name, kFactsTimeout);
    if (absl::IsResourceExhausted(refreshed)) {
      return absl::ResourceExhaustedError(
          absl::StrCat(refreshed.message(), "; without --refresh its last facts are shown"));
    }
    refreshed = Annotate(refreshed, request.name());
    // For a caller, Unavailable would mean the controller.
    if (absl::IsUnavailable(refreshed))
      return absl::FailedPreconditionError(
          absl::StrCat(refreshed.message(), "; without --refresh its last facts are shown"));
    RETURN_IF_ERROR(refreshed);
    RETURN_IF_ERROR(read());
  }
  if (reported.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("node ", request.name(), " has not reported its facts yet"));
  if (!response.mutable_facts()->ParseFromString(reported))
    return absl::DataLossError(absl::StrCat("the stored facts of ", request.name(),
                                            " are damaged; ask again with --refresh"));
  return absl::OkStatus();
}

absl::Status NodeService::ApproveNode(const grpc::ServerContext& context,
                                      const v1::ApproveNodeRequest& request,
                                      v1::ApproveNodeResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NodeNames(request.nodes()));
  RETURN_IF_ERROR(enrollment_.Approve(
      names, {request.fingerprints().begin(), request.fingerprints().end()}, caller.ToActor()));
  response.mutable_approved()->Assign(names.begin(), names.end());
  return absl::OkStatus();
}

absl::Status NodeService::RemoveNode(const grpc::ServerContext& context,
                                     const v1::RemoveNodeRequest& request,
                                     v1::RemoveNodeResponse& response) {
  RETURN_IF_ERROR(Validate(request));
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NodeNames(request.nodes()));
  RETURN_IF_ERROR(enrollment_.Remove(names, request.reason(), caller.ToActor()));
  about_.on_removed(names);
  response.mutable_removed()->Assign(names.begin(), names.end());
  return absl::OkStatus();
}

bool NodeService::IsMember(const std::string& name) {
  return store_.View([&](Transaction& txn) { return txn.nodes().GetByName(name).status(); }).ok();
}

absl::StatusOr<std::vector<std::string>> NodeService::Workers(const std::string& selector) {
  if (!gate_.is_shut()) return gate_.Reconcile();
  ASSIGN_OR_RETURN(const InventoryVersion current, inventory_.Latest());
  absl::StatusOr<std::vector<const Node*>> nodes = Select(*current.inventory, selector);
  std::vector<std::string> names;
  if (!nodes.ok()) {
    // Members that an inventory has dropped may still have jobs.
    const absl::StatusOr<std::vector<std::string>> listed = ExpandHostlist(selector);
    if (!listed.ok()) return nodes.status();
    std::vector<const Node*> known;
    for (const std::string& name : *listed) {
      if (const Node* node = current.inventory->FindNode(name); node != nullptr) {
        known.push_back(node);
      } else if (IsMember(name)) {
        names.push_back(name);
      } else {
        return nodes.status();
      }
    }
    nodes = std::move(known);
  }
  for (const Node* node : *nodes) {
    if (node->role != NodeRole::kCompute) {
      return absl::InvalidArgumentError(absl::StrCat(node->name, " is a ", NodeRoleName(node->role),
                                                     " node, which Slurm gives no jobs"));
    }
    names.push_back(node->name);
  }
  return names;
}

absl::Status NodeService::Drain(const Actor& actor, const v1::DrainNodesRequest& request,
                                v1::DrainNodesResponse& response) {
  RETURN_IF_ERROR(Validate(request));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, Workers(request.nodes()));
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) {
    return validation::HoldNodes(txn, names, actor, request.reason(), about_.clock->Now());
  }));
  response.mutable_nodes()->Assign(names.begin(), names.end());
  // What Slurm cannot do now, the gate's next look does.
  response.set_trouble(std::string(gate_.Reconcile().message()));
  return absl::OkStatus();
}

absl::Status NodeService::Resume(const Actor& actor, const v1::ResumeNodesRequest& request,
                                 v1::ResumeNodesResponse& response) {
  RETURN_IF_ERROR(Validate(request));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, Workers(request.nodes()));
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) {
    return validation::FreeNodes(txn, names, actor, request.reason(), about_.clock->Now());
  }));
  const absl::Status told = gate_.Reconcile();
  ASSIGN_OR_RETURN(const InventoryVersion current, InventoryIfAny());
  ASSIGN_OR_RETURN(std::vector<v1::Node> nodes, AllNodes(current));
  const absl::flat_hash_set<std::string> wanted(names.begin(), names.end());
  for (v1::Node& node : nodes) {
    if (!wanted.contains(node.name())) continue;
    if (!told.ok()) node.set_service(absl::StrCat("not known: ", told.message()));
    *response.add_nodes() = std::move(node);
  }
  return absl::OkStatus();
}

absl::Status NodeService::ListNodeJobs(const v1::ListNodeJobsRequest& request,
                                       v1::ListNodeJobsResponse& response) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NodeNames(request.nodes()));
  const auto jobs = slurm_.JobsOn(names);
  if (validation::IsNoSlurmYet(jobs.status())) return absl::OkStatus();
  if (!jobs.ok()) {
    response.set_unknown(std::string(jobs.status().message()));
    return absl::OkStatus();
  }
  for (const auto& [name, of_node] : *jobs) {
    v1::NodeJobs& node = *response.add_nodes();
    node.set_node(name);
    for (const SlurmJob& job : of_node) {
      v1::SlurmJobInfo& info = *node.add_jobs();
      info.set_id(job.id);
      info.set_user(job.user);
      info.set_name(job.name);
      if (job.time_left < absl::InfiniteDuration())
        info.set_seconds_left(absl::ToInt64Seconds(job.time_left));
    }
  }
  return absl::OkStatus();
}

absl::Status NodeService::FillStatus(const std::vector<v1::Node>& nodes,
                                     v1::GetStatusResponse& response) {
  ASSIGN_OR_RETURN(const InventoryVersion current, InventoryIfAny());
  response.set_cluster(about_.cluster);
  response.set_controller_version(about_.version);
  response.set_ca_pin(about_.ca_pin);
  *response.mutable_started_at() = ToTimestamp(about_.started_at);
  if (current.inventory != nullptr)
    for (std::string& network : TrustedNetworksOf(*current.inventory))
      response.add_trusted_networks(std::move(network));
  response.set_nodes_total(static_cast<uint32_t>(nodes.size()));
  uint32_t connected = 0, pending = 0;
  std::map<std::string, uint32_t> services;
  for (const v1::Node& node : nodes) {
    connected += node.connected();
    pending += node.state() == v1::NODE_STATE_PENDING;
    if (node.state() == v1::NODE_STATE_LOCKED) response.add_nodes_locked(node.name());
    if (!node.reboot_pending().empty()) response.add_nodes_to_reboot(node.name());
    if (!node.service().empty()) ++services[node.service().substr(0, node.service().find(':'))];
    const bool is_enrolled = node.state() != v1::NODE_STATE_KNOWN &&
                             node.state() != v1::NODE_STATE_PENDING &&
                             node.state() != v1::NODE_STATE_REMOVED;
    if (is_enrolled && !node.connected() && response.nodes_away_size() < kMaxNamed)
      response.add_nodes_away(node.name());
    if (!node.facts_refused().empty() && response.facts_refused_size() < kMaxNamed)
      response.add_facts_refused(absl::StrCat(node.name(), ": ", node.facts_refused()));
  }
  response.set_nodes_connected(connected);
  response.set_nodes_pending(pending);
  if (current.inventory != nullptr) response.set_inventory_revision(current.revision);
  response.set_slurm_gate(gate_.is_shut());
  response.set_slurm_gate_trouble(std::string(gate_.trouble().message()));
  for (const auto& [service, count] : services) {
    v1::ServiceCount& one = *response.add_services();
    one.set_service(service);
    one.set_nodes(count);
  }
  response.set_store_bytes(store_.SizeBytes());
  ASSIGN_OR_RETURN(health::HealthSummary health, health_.Summarize(/*all_nodes=*/false));
  for (v1::HealthProblem& problem : health.problems) {
    if (response.health_size() == kMaxNamed) break;
    *response.add_health() = std::move(problem);
  }
  for (v1::HealthBreaker& breaker : health.breakers) {
    if (breaker.has_open_since()) *response.add_health_breakers() = std::move(breaker);
  }
  const absl::Time now = about_.clock->Now();
  return store_.View([&](Transaction& txn) { return FillWork(txn, now, response); });
}

}  // namespace muster::controller
