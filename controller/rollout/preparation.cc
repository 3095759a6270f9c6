#include "controller/rollout/preparation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/gate/job_gate.h"
#include "controller/inventory/inventory.h"
#include "controller/rollout/collaborators.h"
#include "controller/rollout/rollout_records.h"
#include "controller/rollout/way_back/rollout_stack.h"
#include "controller/rollout/way_back/way_back.h"
#include "controller/run/run_engine.h"
#include "controller/slurm/slurmctld_node.h"
#include "controller/store/store.h"
#include "muster/v1/plan_file.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::controller::rollout {
namespace {

// Storage before login, since login nodes mount it, and last what jobs are started by: the nodes of
// slurmctld, the first of which is the one that is in charge.
void PutInOrder(const Inventory& inventory, std::vector<const Node*>& others) {
  const auto slurmctld = slurm::SlurmctldNodes(inventory);
  const auto rank = [&](const Node* node) -> size_t {
    if (slurmctld.ok()) {
      const auto found = std::find(slurmctld->rbegin(), slurmctld->rend(), node->name);
      if (found != slurmctld->rend()) return 2 + static_cast<size_t>(found - slurmctld->rbegin());
    }
    return node->role == NodeRole::kStorage ? 0 : 1;
  };
  std::stable_sort(others.begin(), others.end(),
                   [&](const Node* a, const Node* b) { return rank(a) < rank(b); });
}

// The playbook's nodes: its workers in the order of the inventory, and what may follow them.
absl::Status TakeNodes(Transaction& txn, const Inventory& inventory, std::vector<std::string> names,
                       absl::Time now, ActiveRollout& rollout) {
  std::sort(names.begin(), names.end());
  std::vector<std::string> left_out;
  std::vector<const Node*> workers, others;
  for (const Node& node : inventory.nodes()) {
    if (!std::binary_search(names.begin(), names.end(), node.name)) continue;
    (node.role == NodeRole::kCompute ? workers : others).push_back(&node);
  }
  PutInOrder(inventory, others);
  const auto take = [&](const Node& node, bool is_wanted) -> absl::Status {
    const absl::StatusOr<NodeRecord> joined = txn.nodes().GetByName(node.name);
    if (!joined.ok() && !absl::IsNotFound(joined.status())) return joined.status();
    const bool is_member = joined.ok() && (joined->state == NodeRecord::kEnrolled ||
                                           joined->state == NodeRecord::kConfigured);
    if (!is_wanted || !is_member) {
      left_out.push_back(node.name);
      return absl::OkStatus();
    }
    RolloutNodeRecord row;
    row.node = node.name;
    row.node_uuid = joined->uuid;
    row.position = static_cast<uint32_t>(rollout.nodes.size());
    row.step = v1::ROLLOUT_STEP_PENDING;
    row.since = now;
    rollout.nodes.push_back(std::move(row));
    rollout.places.push_back(PlaceOf(inventory, node.name));
    return absl::OkStatus();
  };
  for (const Node* node : workers) RETURN_IF_ERROR(take(*node, true));
  const bool has_workers = !rollout.nodes.empty();
  rollout.request.set_workers(
      rollout.request.login_and_storage() ? static_cast<uint32_t>(rollout.nodes.size()) : 0);
  for (const Node* node : others) RETURN_IF_ERROR(take(*node, rollout.request.login_and_storage()));
  rollout.record.left_out = FoldHostlist(std::move(left_out));
  if (has_workers) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the playbook names no worker that has joined",
                   rollout.request.limit().empty()
                       ? ""
                       : absl::StrCat(" within --limit '", rollout.request.limit(), "'"),
                   "; others are updated by muster apply"));
}

// The effective request: `asked` itself, or the content of a plan file that is still valid.
absl::StatusOr<v1::CreateRolloutRequest> Complete(const RolloutCollaborators& with,
                                                  const v1::CreateRolloutRequest& asked) {
  if (asked.plan_sha256().empty()) return asked;
  v1::CreateRolloutRequest rest = asked;
  rest.clear_plan_sha256();
  if (rest.ByteSizeLong() > 0) {
    return absl::InvalidArgumentError(
        "a rollout of a plan file takes bundle, playbook, nodes and limits from the file");
  }
  ASSIGN_OR_RETURN(const v1::PlanFile file, with.plan_file(asked.plan_sha256()));
  if (!file.has_rollout()) {
    return absl::FailedPreconditionError(
        "the plan is not one of a rollout; `muster apply FILE` carries it out");
  }
  v1::CreateRolloutRequest full = file.rollout().rollout().request();
  full.clear_workers();
  full.clear_rolls_back_id();
  full.clear_revision_before();
  full.clear_node_stacks();
  full.clear_node_images();
  // What its nodes were checked with.
  full.set_bundle_sha256(file.bundle_sha256());
  full.set_playbook(file.playbook());
  *full.mutable_tags() = file.tags();
  *full.mutable_extra_vars() = file.extra_vars();
  full.set_plan_sha256(asked.plan_sha256());
  return full;
}

}  // namespace

ActiveRollout::Place PlaceOf(const Inventory& inventory, const std::string& name) {
  const Node* node = inventory.FindNode(name);
  if (node == nullptr) return {};
  const Rack* rack = inventory.FindRack(node->rack);
  return {node->rack, rack == nullptr ? "" : rack->switch_name};
}

bool MayBeTemporary(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsUnavailable(status) ||
         absl::IsResourceExhausted(status) || absl::IsCancelled(status);
}

v1::CreateRunRequest RunOf(const v1::CreateRolloutRequest& request, const std::string& limit) {
  v1::CreateRunRequest run;
  run.set_limit(limit);
  if (request.plan_sha256().empty()) {
    run.set_bundle_sha256(request.bundle_sha256());
    run.set_playbook(request.playbook());
    *run.mutable_tags() = request.tags();
    *run.mutable_extra_vars() = request.extra_vars();
    run.set_reboots(request.reboots());
    for (auto& [name, value] : GivenBack(request, limit))
      (*run.mutable_extra_vars())[name] = std::move(value);
  } else {
    run.set_plan_sha256(request.plan_sha256());
  }
  // The rollout has its nodes validated itself, one after the other.
  run.set_skip_validation(true);
  return run;
}

absl::StatusOr<ActiveRollout> PrepareRollout(const RolloutCollaborators& with,
                                             const v1::CreateRolloutRequest& given,
                                             const RunActor& actor) {
  if (!with.gate.is_shut()) return with.gate.Reconcile();
  // Before what may take long: whatever is accepted from now on is newer than the rollout.
  const absl::Time now = with.clock.Now();
  ASSIGN_OR_RETURN(const v1::CreateRolloutRequest asked, Complete(with, given));
  v1::CreateRunRequest look = RunOf(asked, asked.limit());
  look.set_check_only(true);
  ASSIGN_OR_RETURN(std::vector<std::string> names, with.preview_run(look, actor));
  ASSIGN_OR_RETURN(const InventoryVersion inventory, with.inventory.Latest());
  ActiveRollout rollout;
  rollout.request = asked;
  RolloutRecord& record = rollout.record;
  record.state = v1::ROLLOUT_STATE_ROLLING;
  record.created_by = actor.name;
  record.mandate_serial = actor.mandate.serial;
  record.certificate_ends = actor.mandate.certificate_ends;
  record.created_at = record.wave_since = now;
  record.inventory_revision = inventory.revision;
  RETURN_IF_ERROR(with.store.View([&](Transaction& txn) -> absl::Status {
    return TakeNodes(txn, *inventory.inventory, std::move(names), now, rollout);
  }));
  ASSIGN_OR_RETURN(rollout.limits,
                   ResolveLimits(rollout.request, static_cast<uint32_t>(rollout.nodes.size())));
  std::vector<std::string> workers;
  for (uint32_t i = 0; i < rollout.worker_count(); ++i) workers.push_back(rollout.nodes[i].node);
  // With the variable it is as if the inventory said so: for previews, see Create().
  if (!asked.stack().empty() && asked.extra_vars().count("stack") == 0)
    RETURN_IF_ERROR(CheckStackInForce(*inventory.inventory, asked.stack(), workers));
  RETURN_IF_ERROR(FindWayBack(with, *inventory.inventory, workers, rollout));
  ASSIGN_OR_RETURN(std::string suite, with.suite_for(asked, workers, actor));
  rollout.request.set_suite(std::move(suite));
  record.request = rollout.request.SerializeAsString();
  return rollout;
}

absl::StatusOr<ActiveRollout> ReadActive(const RolloutCollaborators& with,
                                         const std::string& rollout_id) {
  ActiveRollout rollout;
  std::vector<v1::RolloutEvent> events;
  RETURN_IF_ERROR(with.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(rollout.record, txn.rollouts().Get(rollout_id));
    ASSIGN_OR_RETURN(rollout.nodes, txn.rollouts().ListNodes(rollout_id));
    ASSIGN_OR_RETURN(events, ReadEvents(txn, rollout_id, 0));
    return absl::OkStatus();
  }));
  rollout.request = RequestOf(rollout.record);
  ASSIGN_OR_RETURN(rollout.limits,
                   ResolveLimits(rollout.request, static_cast<uint32_t>(rollout.nodes.size())));
  ASSIGN_OR_RETURN(const InventoryVersion inventory, with.inventory.Latest());
  for (const RolloutNodeRecord& node : rollout.nodes)
    rollout.places.push_back(PlaceOf(*inventory.inventory, node.node));
  if (!events.empty()) rollout.last_sequence = events.back().sequence();
  rollout.feed = std::make_shared<RolloutFeed>(kRolloutRetention, rollout.last_sequence);
  for (v1::RolloutEvent& event : events) rollout.feed->Append(std::move(event));
  return rollout;
}

}  // namespace muster::controller::rollout
