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
#include "controller/rollout/applications.h"
#include "controller/rollout/collaborators.h"
#include "controller/rollout/rollout_records.h"
#include "controller/run/run_engine.h"
#include "controller/store/store.h"
#include "muster/v1/run.pb.h"

namespace muster::controller::rollout {
namespace {

ActiveRollout::Place PlaceOf(const Inventory& inventory, const std::string& name) {
  const Node* node = inventory.FindNode(name);
  if (node == nullptr) return {};
  const Rack* rack = inventory.FindRack(node->rack);
  return {node->rack, rack == nullptr ? "" : rack->switch_name};
}

// The bundle that was applied whole last with the same playbook, other than the request's: by a
// rollout or by a run over everything. "": there is none.
absl::StatusOr<std::string> PreviousBundle(Transaction& txn,
                                           const v1::CreateRolloutRequest& request) {
  ASSIGN_OR_RETURN(const auto applications, ReadApplications(txn, request.playbook()));
  for (const Application& each : applications) {
    if (each.bundle != request.bundle_sha256() && (each.is_rollout || each.limit.empty()))
      return each.bundle;
  }
  return "";
}

// The workers among the playbook's nodes, in the order of the inventory.
absl::Status TakeNodes(Transaction& txn, const Inventory& inventory, std::vector<std::string> names,
                       absl::Time now, ActiveRollout& rollout) {
  std::sort(names.begin(), names.end());
  std::vector<std::string> left_out;
  for (const Node& node : inventory.nodes()) {
    if (!std::binary_search(names.begin(), names.end(), node.name)) continue;
    const absl::StatusOr<NodeRecord> joined = txn.nodes().GetByName(node.name);
    if (!joined.ok() && !absl::IsNotFound(joined.status())) return joined.status();
    const bool is_member = joined.ok() && (joined->state == NodeRecord::kEnrolled ||
                                           joined->state == NodeRecord::kConfigured);
    if (node.role != NodeRole::kCompute || !is_member) {
      left_out.push_back(node.name);
      continue;
    }
    RolloutNodeRecord row;
    row.node = node.name;
    row.node_uuid = joined->uuid;
    row.position = static_cast<uint32_t>(rollout.nodes.size());
    row.step = v1::ROLLOUT_STEP_PENDING;
    row.since = now;
    rollout.nodes.push_back(std::move(row));
    rollout.places.push_back(PlaceOf(inventory, node.name));
  }
  rollout.record.left_out = FoldHostlist(std::move(left_out));
  if (!rollout.nodes.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the playbook names no worker that has joined",
                   rollout.request.limit().empty()
                       ? ""
                       : absl::StrCat(" within --limit '", rollout.request.limit(), "'"),
                   "; others are updated by muster apply"));
}

}  // namespace

bool MayBeTemporary(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsUnavailable(status) ||
         absl::IsResourceExhausted(status) || absl::IsCancelled(status);
}

v1::CreateRunRequest RunOf(const v1::CreateRolloutRequest& request, const std::string& limit) {
  v1::CreateRunRequest run;
  run.set_bundle_sha256(request.bundle_sha256());
  run.set_playbook(request.playbook());
  run.set_limit(limit);
  *run.mutable_tags() = request.tags();
  *run.mutable_extra_vars() = request.extra_vars();
  // The rollout has its nodes validated itself, one after the other.
  run.set_skip_validation(true);
  return run;
}

absl::StatusOr<ActiveRollout> PrepareRollout(const RolloutCollaborators& with,
                                             const v1::CreateRolloutRequest& asked,
                                             const RunActor& actor) {
  if (!with.gate.is_shut()) return with.gate.Reconcile();
  // Before what may take long: whatever is accepted from now on is newer than the rollout.
  const absl::Time now = with.clock.Now();
  ASSIGN_OR_RETURN(std::vector<std::string> names,
                   with.preview_run(RunOf(asked, asked.limit()), actor));
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
    RETURN_IF_ERROR(TakeNodes(txn, *inventory.inventory, std::move(names), now, rollout));
    ASSIGN_OR_RETURN(record.previous_bundle, PreviousBundle(txn, asked));
    return absl::OkStatus();
  }));
  ASSIGN_OR_RETURN(rollout.limits,
                   ResolveLimits(asked, static_cast<uint32_t>(rollout.nodes.size())));
  std::vector<std::string> workers;
  for (const RolloutNodeRecord& node : rollout.nodes) workers.push_back(node.node);
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
