#include "controller/health/reboots.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/value/node_reboot.h"
#include "controller/audit/audit.h"
#include "controller/health/held_drain.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller::health {
namespace {

// Among so many of the newest, a rollout that an earlier process started is looked for.
constexpr uint32_t kRecentRollouts = 1000;

constexpr char kNotWanted[] = "its node is not held for its health any more";

RebootProgress::Kind ProgressOf(const RolloutRecord& rollout, v1::RolloutStep step) {
  switch (step) {
    case v1::ROLLOUT_STEP_DONE:
      return RebootProgress::kRebooted;
    case v1::ROLLOUT_STEP_FAILED:
    case v1::ROLLOUT_STEP_QUARANTINED:
      return RebootProgress::kFailed;
    case v1::ROLLOUT_STEP_SKIPPED:
      return RebootProgress::kNotTried;
    default:
      break;
  }
  if (rollout.finished_at.has_value()) return RebootProgress::kNotTried;
  return rollout.state == v1::ROLLOUT_STATE_ABORTING ? RebootProgress::kEnding
                                                     : RebootProgress::kOpen;
}

// The drain as it is now. Aborted: its reboot is not due any more.
absl::StatusOr<HealthDrainRecord> ReadDue(Transaction& txn, const DueReboot& due) {
  ASSIGN_OR_RETURN(const std::optional<HealthDrainRecord> drain,
                   FindHeld(txn, {due.drain.node_uuid, due.drain.condition}));
  if (!drain.has_value() || drain->reboot != HealthDrainRecord::kDue)
    return absl::AbortedError(kNotWanted);
  return *drain;
}

}  // namespace

absl::StatusOr<RebootProgress> ReadReboot(Transaction& txn, const HealthDrainRecord& drain) {
  const absl::StatusOr<RolloutRecord> rollout = txn.rollouts().Get(drain.rollout_id);
  if (absl::IsNotFound(rollout.status())) return RebootProgress{RebootProgress::kNotTried};
  RETURN_IF_ERROR(rollout.status());
  ASSIGN_OR_RETURN(const std::vector<RolloutNodeRecord> nodes,
                   txn.rollouts().ListNodes(drain.rollout_id));
  for (const RolloutNodeRecord& node : nodes) {
    if (node.node_uuid == drain.node_uuid)
      return RebootProgress{ProgressOf(*rollout, static_cast<v1::RolloutStep>(node.step))};
  }
  return RebootProgress{RebootProgress::kNotTried};
}

absl::StatusOr<std::string> Reboots::FindStarted(Transaction& txn, const DueReboot& due) {
  ASSIGN_OR_RETURN(const std::vector<RolloutRecord> rollouts, txn.rollouts().List(kRecentRollouts));
  for (const RolloutRecord& rollout : rollouts) {
    v1::CreateRolloutRequest request;
    const bool is_ours = rollout.created_by == ControllerActor().name &&
                         rollout.created_at >= due.drain.drained_at &&
                         request.ParseFromString(rollout.request) && request.limit() == due.node &&
                         request.playbook() == kNodeRebootPath;
    if (is_ours) return rollout.rollout_id;
  }
  return std::string();
}

absl::Status Reboots::StoreBegun(const DueReboot& due, const std::string& id, absl::Time now) {
  absl::MutexLock lock(&rows_);
  return store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(HealthDrainRecord drain, ReadDue(txn, due));
    drain.reboot = HealthDrainRecord::kRunning;
    drain.rollout_id = id;
    RETURN_IF_ERROR(txn.health().PutDrain(drain));
    return Audit(txn, now, ControllerActor(), "health.reboot", due.node,
                 absl::StrCat(drain.condition, ": ", id));
  });
}

absl::StatusOr<std::string> Reboots::Begin(const DueReboot& due, absl::Time now) {
  std::string id;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(ReadDue(txn, due).status());
    ASSIGN_OR_RETURN(id, FindStarted(txn, due));
    return absl::OkStatus();
  }));
  const bool is_new = id.empty();
  if (is_new) {
    // The condition alone: what a node says must not get into a playbook's variables.
    ASSIGN_OR_RETURN(id, work_.start(due.node, absl::StrCat("health: ", due.drain.condition)));
  }
  const absl::Status stored = StoreBegun(due, id, now);
  // No row leads to this rollout: the node may have jobs again when it would reboot it.
  if (is_new && absl::IsAborted(stored)) CallOff(id);
  RETURN_IF_ERROR(stored);
  return id;
}

void Reboots::Start(const DueReboot& due, absl::Time now) {
  const NodeCondition key(due.drain.node_uuid, due.drain.condition);
  if (!tries_.IsDue(key, now)) return;
  const absl::StatusOr<std::string> id = Begin(due, now);
  if (id.ok()) {
    tries_.Forget(key);
  } else {
    tries_.Note(key, now, std::string(id.status().message()));
  }
}

void Reboots::CallOff(const std::string& rollout_id) {
  // One that has ended meanwhile needs nothing, and what failed is tried again by the next look.
  work_.call_off(rollout_id, kNotWanted).IgnoreError();
}

}  // namespace muster::controller::health
