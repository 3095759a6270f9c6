#include "controller/gate/node_holds.h"

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/audit/audit.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller::validation {
namespace {

absl::StatusOr<std::string> UuidOf(Transaction& txn, const std::string& node) {
  const absl::StatusOr<NodeRecord> record = txn.nodes().GetByName(node);
  if (record.ok()) return record->uuid;
  if (!absl::IsNotFound(record.status())) return record.status();
  return absl::FailedPreconditionError(
      absl::StrCat(node, " has not joined, so nothing can be held or resumed"));
}

// The rollouts that are updating nodes now, by node.
absl::StatusOr<std::map<std::string, std::string>> NodesInUpdate(Transaction& txn) {
  std::map<std::string, std::string> updating;
  ASSIGN_OR_RETURN(const std::vector<RolloutRecord> open, txn.rollouts().ListOpen());
  for (const RolloutRecord& rollout : open) {
    ASSIGN_OR_RETURN(const auto nodes, txn.rollouts().ListNodes(rollout.rollout_id));
    for (const RolloutNodeRecord& node : nodes) {
      const bool is_active =
          node.step == v1::ROLLOUT_STEP_REQUEUING ||
          (node.step >= v1::ROLLOUT_STEP_DRAINING && node.step <= v1::ROLLOUT_STEP_RESUMING);
      if (is_active) updating[node.node] = rollout.rollout_id;
    }
  }
  return updating;
}

// Fails where a run is rebooting the node: the hold ends with that, and not before.
absl::Status RefuseIfRebooting(Transaction& txn, const NodeHoldRecord& hold,
                               const std::string& node) {
  const absl::StatusOr<RunRecord> run = txn.runs().Get(hold.owner);
  if (absl::IsNotFound(run.status())) return absl::OkStatus();  // it is somebody else's
  RETURN_IF_ERROR(run.status());
  if (run->state != RunRecord::kRunning) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "run ", hold.owner, " is rebooting ", node, " and resumes it itself; see: muster run watch ",
      hold.owner, ", or end it: muster run cancel ", hold.owner));
}

// Fails where the hold is a quarantine that the actor may not end, or not yet.
absl::Status RefuseIfQuarantined(const std::vector<HealthDrainRecord>& drains,
                                 const NodeHoldRecord& hold, const std::string& node,
                                 const Actor& actor) {
  if (!hold.is_quarantine) return absl::OkStatus();
  absl::string_view condition = hold.owner;
  condition.remove_prefix(condition.find(':') + 1);
  if (!IsAdministrator(actor))
    return absl::PermissionDeniedError(absl::StrCat(node, " is quarantined for ", condition,
                                                    ", which only an administrator ends"));
  for (const HealthDrainRecord& drain : drains) {
    const bool is_its = drain.node_uuid == hold.node_uuid && drain.condition == condition;
    if (is_its && drain.is_cleared) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      node, " is quarantined for ", condition,
      ", which is not well yet, or has not been for long enough, or the node has not passed its "
      "test since; see: muster health ",
      node, ", or change the policy of ", condition, " in the inventory first"));
}

}  // namespace

absl::Status HoldNodes(Transaction& txn, const std::vector<std::string>& nodes, const Actor& actor,
                       absl::string_view reason, absl::Time now) {
  for (const std::string& node : nodes) {
    ASSIGN_OR_RETURN(const std::string uuid, UuidOf(txn, node));
    RETURN_IF_ERROR(txn.node_holds().Put({uuid, actor.name, std::string(reason), now}));
  }
  return Audit(txn, now, actor, "node.drain", FoldHostlist(nodes), reason);
}

absl::Status FreeNodes(Transaction& txn, const std::vector<std::string>& nodes, const Actor& actor,
                       absl::string_view reason, absl::Time now) {
  ASSIGN_OR_RETURN(const auto updating, NodesInUpdate(txn));
  ASSIGN_OR_RETURN(const std::vector<NodeHoldRecord> holds, txn.node_holds().List());
  ASSIGN_OR_RETURN(const std::vector<HealthDrainRecord> drains, txn.health().ListDrains());
  for (const std::string& node : nodes) {
    if (const auto found = updating.find(node); found != updating.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("rollout ", found->second, " is updating ", node,
                       " and resumes it itself; see: muster rollout explain ", node,
                       ", or end it: muster rollout abort ", found->second));
    }
    ASSIGN_OR_RETURN(const std::string uuid, UuidOf(txn, node));
    // A drain that Slurm still has from before a restore counts no more.
    RETURN_IF_ERROR(txn.restores().MarkSeen(uuid));
    for (const NodeHoldRecord& hold : holds) {
      if (hold.node_uuid != uuid) continue;
      RETURN_IF_ERROR(RefuseIfRebooting(txn, hold, node));
      RETURN_IF_ERROR(RefuseIfQuarantined(drains, hold, node, actor));
      RETURN_IF_ERROR(txn.node_holds().Delete(uuid, hold.owner));
    }
  }
  return Audit(txn, now, actor, "node.resume", FoldHostlist(nodes), reason);
}

}  // namespace muster::controller::validation
