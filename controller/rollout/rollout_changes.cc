#include "controller/rollout/rollout_changes.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/gate/service_state.h"
#include "controller/store/store.h"

namespace muster::controller::rollout {
namespace {

// The words of the audit log.
struct AuditRow {
  RolloutEvent event;
  const char* action;
};
constexpr AuditRow kAuditRows[] = {
    {RolloutEvent::kWaveDone, "rollout.soak"},      {RolloutEvent::kSoaked, "rollout.continue"},
    {RolloutEvent::kPaused, "rollout.pause"},       {RolloutEvent::kResumed, "rollout.resume"},
    {RolloutEvent::kAborted, "rollout.abort"},      {RolloutEvent::kRolledBack, "rollout.rollback"},
    {RolloutEvent::kCompleted, "rollout.complete"}, {RolloutEvent::kSettled, "rollout.end"},
};
const char* AuditWord(RolloutEvent event) {
  for (const AuditRow& row : kAuditRows) {
    if (row.event == event) return row.action;
  }
  return "rollout.change";
}

absl::Status MoveNode(const NodeMove& move, absl::Time now, RolloutNodeRecord& node) {
  if (move.run_id.has_value()) node.run_id = *move.run_id;
  if (move.validation_id.has_value()) node.validation_id = *move.validation_id;
  if (move.run_changed.has_value()) node.run_changed = *move.run_changed;
  if (move.service_before.has_value()) {
    node.service_before = *move.service_before;
    node.was_available = move.was_available;
  }
  node.message = move.message;
  if (!move.event.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const v1::RolloutStep next,
                   NextStep(static_cast<v1::RolloutStep>(node.step), *move.event));
  node.step = next;
  node.since = now;
  if (*move.event == NodeEvent::kPassedOver) node.passed_over = true;
  return absl::OkStatus();
}

// The hold that belongs to the node's step.
absl::Status PutHold(Transaction& txn, const RolloutNodeRecord& node, absl::Time now) {
  const auto step = static_cast<v1::RolloutStep>(node.step);
  switch (step) {
    case v1::ROLLOUT_STEP_DRAINING:
    case v1::ROLLOUT_STEP_REQUEUING:
    case v1::ROLLOUT_STEP_APPLYING:
    case v1::ROLLOUT_STEP_VALIDATING:
      return txn.node_holds().Put(
          {node.node_uuid, node.rollout_id, std::string(validation::kBeingUpdated), now});
    case v1::ROLLOUT_STEP_FAILED:
      return txn.node_holds().Put(
          {node.node_uuid, node.rollout_id,
           absl::StrCat("update failed; see muster rollout explain ", node.node), now});
    case v1::ROLLOUT_STEP_RESUMING: {
      // It is proven as it is now, so the failures of earlier rollouts are over, too.
      ASSIGN_OR_RETURN(const auto holds, txn.node_holds().List());
      for (const NodeHoldRecord& hold : holds) {
        if (hold.node_uuid == node.node_uuid && absl::StartsWith(hold.owner, "u-"))
          RETURN_IF_ERROR(txn.node_holds().Delete(node.node_uuid, hold.owner));
      }
      return absl::OkStatus();
    }
    default:  // of a quarantined node the gate takes care
      return txn.node_holds().Delete(node.node_uuid, node.rollout_id);
  }
}

absl::Status MoveWhole(const RolloutMove& move, absl::Time now, RolloutRecord& record) {
  ASSIGN_OR_RETURN(const v1::RolloutState next,
                   NextState(static_cast<v1::RolloutState>(record.state), move.event));
  record.state = next;
  record.wave_since = now;
  record.message = move.message;
  record.wave += move.event == RolloutEvent::kSoaked;
  if (move.event == RolloutEvent::kResumed) {
    record.forgiven = move.forgiven.failed;
    record.forgiven_out = move.forgiven.out;
  }
  if (!move.rolled_back_by.empty()) record.rolled_back_by = move.rolled_back_by;
  if (HasEnded(next)) record.finished_at = now;
  return absl::OkStatus();
}

// A node that was away is caught up with its run when it is back, but not with an update that was
// given up meanwhile.
absl::Status GiveUpMissedRuns(Transaction& txn, const std::vector<RolloutNodeRecord>& rows) {
  for (const RolloutNodeRecord& row : rows) {
    if (row.step != v1::ROLLOUT_STEP_FAILED || row.run_id.empty()) continue;
    absl::StatusOr<NodeRecord> node = txn.nodes().Get(row.node_uuid);
    if (absl::IsNotFound(node.status())) continue;
    RETURN_IF_ERROR(node.status());
    if (node->last_run_id != row.run_id || node->last_run_result != kRunMissed) continue;
    node->last_run_result = "failed";
    RETURN_IF_ERROR(txn.nodes().Put(*node));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Commit(Store& store, ActiveRollout& rollout, const std::vector<NodeMove>& nodes,
                    const std::optional<RolloutMove>& whole, const Actor& actor, absl::Time now) {
  if (nodes.empty() && !whole.has_value()) return absl::OkStatus();
  RolloutRecord record = rollout.record;
  std::vector<RolloutNodeRecord> rows = rollout.nodes;
  std::vector<v1::RolloutEvent> events;
  uint64_t sequence = rollout.last_sequence;
  const auto new_event = [&]() -> v1::RolloutEvent& {
    v1::RolloutEvent& event = events.emplace_back();
    event.set_sequence(++sequence);
    *event.mutable_time() = ToTimestamp(now);
    return event;
  };
  for (const NodeMove& move : nodes) {
    RolloutNodeRecord& row = rows[move.node];
    RETURN_IF_ERROR(MoveNode(move, now, row));
    if (!move.event.has_value()) continue;
    v1::RolloutEvent& event = new_event();
    event.set_node(row.node);
    event.set_step(static_cast<v1::RolloutStep>(row.step));
    event.set_message(row.message);
  }
  if (whole.has_value()) {
    RETURN_IF_ERROR(MoveWhole(*whole, now, record));
    v1::RolloutEvent& event = new_event();
    event.set_state(static_cast<v1::RolloutState>(record.state));
    event.set_wave(record.wave);
    event.set_message(record.message);
  }
  RETURN_IF_ERROR(store.Update([&](Transaction& txn) -> absl::Status {
    for (const NodeMove& move : nodes) {
      RETURN_IF_ERROR(txn.rollouts().PutNode(rows[move.node]));
      if (move.event.has_value()) RETURN_IF_ERROR(PutHold(txn, rows[move.node], now));
    }
    for (const v1::RolloutEvent& event : events) {
      RETURN_IF_ERROR(txn.rollouts().AppendEvent(
          {record.rollout_id, event.sequence(), event.SerializeAsString()}));
    }
    if (!whole.has_value()) return absl::OkStatus();
    RETURN_IF_ERROR(txn.rollouts().Put(record));
    if (whole->event == RolloutEvent::kSettled) RETURN_IF_ERROR(GiveUpMissedRuns(txn, rows));
    return Audit(txn, now, actor, AuditWord(whole->event), record.rollout_id, record.message);
  }));
  rollout.record = std::move(record);
  rollout.nodes = std::move(rows);
  rollout.last_sequence = sequence;
  for (v1::RolloutEvent& event : events) rollout.feed->Append(std::move(event));
  if (rollout.record.finished_at.has_value()) rollout.feed->End();
  return absl::OkStatus();
}

}  // namespace muster::controller::rollout
