#include "controller/drift/drift_checks.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/claim/node_claims.h"
#include "controller/inventory/drift_policy.h"
#include "controller/inventory/inventory.h"
#include "controller/run/run_engine.h"
#include "controller/session/agent_sessions.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/rollout.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::controller::drift {
namespace {

RunActor RunActorOf(const DriftPolicy& policy) {
  RunActor actor;
  actor.name = actor.mandate.actor = ActorOf(policy);
  return actor;
}

v1::NodeDrift ToProto(const NodeView& node) {
  v1::NodeDrift proto;
  proto.set_node(node.node);
  proto.set_state(StateOf(node));
  if (node.applied.has_value()) proto.set_applied_run_id(node.applied->run_id);
  if (node.checked.has_value()) {
    proto.set_checked_run_id(node.checked->run_id);
    *proto.mutable_checked_at() = ToTimestamp(node.checked->finished_at);
  }
  if (proto.state() == v1::DRIFT_STATE_DIFFERS) proto.set_changes(node.checked->changes);
  if (proto.state() == v1::DRIFT_STATE_UNKNOWN) proto.set_message(node.checked->failure);
  if (node.repair.has_value()) proto.set_repair_rollout_id(node.repair->rollout_id);
  return proto;
}

v1::CreateRolloutRequest RepairOf(const DriftPolicy& policy, const Decision& decision) {
  v1::CreateRolloutRequest request;
  request.set_bundle_sha256(decision.bundle);
  request.set_playbook(policy.playbook);
  request.set_limit(FoldHostlist(decision.repair));
  *request.mutable_drain_timeout() = ToProtoDuration(DriftChecks::kRepairDrain);
  request.set_on_timeout(v1::DRAIN_TIMEOUT_ACTION_SKIP);
  return request;
}

}  // namespace

DriftChecks::DriftChecks(DriftCollaborators collaborators)
    : with_(std::move(collaborators)), worker_(with_.clock, [this] { return Step(); }) {}

DriftChecks::~DriftChecks() { Stop(); }

absl::StatusOr<std::vector<DriftChecks::Known>> DriftChecks::Look() {
  std::vector<Known> all;
  const absl::StatusOr<InventoryVersion> inventory = with_.inventory.Latest();
  if (absl::IsNotFound(inventory.status())) return all;
  RETURN_IF_ERROR(inventory.status());
  if (inventory->inventory->drift().empty()) return all;
  RETURN_IF_ERROR(ReadPolicies(*inventory->inventory, all));
  std::set<std::string> connected;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
    for (const NodeRecord& node : nodes)
      if (with_.sessions.IsConnected(node.uuid)) connected.insert(node.name);
    return absl::OkStatus();
  }));
  for (Known& known : all) {
    known.view.now = with_.clock.Now();
    const std::set<std::string> held = with_.claims.HeldOf(known.policy->nodes);
    for (NodeView& node : known.view.nodes)
      node.is_free = connected.count(node.node) > 0 && held.count(node.node) == 0;
  }
  return all;
}

absl::Status DriftChecks::ReadPolicies(const Inventory& inventory, std::vector<Known>& all) {
  absl::MutexLock lock(&reading_mutex_);
  std::map<std::string, RunHistory> histories;
  for (const auto& policy : inventory.drift())
    histories[policy->name] = std::move(histories_[policy->name]);
  histories_ = std::move(histories);
  return with_.store.View([&](Transaction& txn) -> absl::Status {
    reading_mutex_.AssertHeld();
    for (const auto& policy : inventory.drift()) {
      ASSIGN_OR_RETURN(PolicyView view,
                       ReadPolicy(txn, inventory, *policy, histories_[policy->name]));
      all.push_back({policy, std::move(view)});
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<v1::DriftPolicy>> DriftChecks::List(const std::set<std::string>* only) {
  ASSIGN_OR_RETURN(const std::vector<Known> all, Look());
  std::vector<v1::DriftPolicy> policies;
  for (const Known& known : all) {
    v1::DriftPolicy& proto = policies.emplace_back();
    proto.set_name(known.policy->name);
    proto.set_playbook(known.policy->playbook);
    *proto.mutable_every() = ToProtoDuration(known.policy->every);
    proto.set_repairs(known.policy->repairs);
    proto.set_message(Decide(known.view).message);
    for (const NodeView& node : known.view.nodes) {
      if (only == nullptr || only->count(node.node) > 0) *proto.add_nodes() = ToProto(node);
    }
    absl::MutexLock lock(&mutex_);
    if (const auto refused = refused_.find(known.policy->name); refused != refused_.end())
      proto.set_message(refused->second.message);
  }
  return policies;
}

absl::Time DriftChecks::Step() {
  const absl::Status looked = StartDue();
  if (!looked.ok() && warned_ != looked.message())
    Warn(absl::StrCat("drift policies: ", looked.message()));
  warned_ = std::string(looked.message());
  return with_.clock.Now() + kInterval;
}

absl::Status DriftChecks::StartDue() {
  ASSIGN_OR_RETURN(const std::vector<Known> all, Look());
  for (const Known& known : all) {
    if (worker_.is_stopping()) break;
    const std::string& name = known.policy->name;
    const absl::Time now = known.view.now;
    {
      absl::MutexLock lock(&mutex_);
      const auto refused = refused_.find(name);
      // A clock that was set back does not keep it from trying.
      if (refused != refused_.end() && now < refused->second.retry_at &&
          refused->second.retry_at - now <= kRetryInterval)
        continue;
    }
    const absl::Status acted = Act(known);
    absl::MutexLock lock(&mutex_);
    std::string& before = refused_[name].message;
    if (!acted.ok() && before != acted.message())
      Warn(absl::StrCat("drift policy ", name, ": ", acted.message()));
    if (acted.ok()) {
      refused_.erase(name);
    } else {
      refused_[name] = {std::string(acted.message()), now + kRetryInterval};
    }
  }
  return absl::OkStatus();
}

absl::Status DriftChecks::Act(const Known& known) {
  const Decision decision = Decide(known.view);
  const RunActor actor = RunActorOf(*known.policy);
  if (!decision.check.empty()) {
    v1::CreateRunRequest request;
    request.ParseFromString(decision.request);
    request.set_limit(FoldHostlist(decision.check));
    RETURN_IF_ERROR(with_.start_run(request, actor));
  }
  if (decision.repair.empty()) return absl::OkStatus();
  return with_.start_rollout(RepairOf(*known.policy, decision), actor);
}

void DriftChecks::Warn(absl::string_view message) {
  if (with_.warn) with_.warn(message);
}

}  // namespace muster::controller::drift
