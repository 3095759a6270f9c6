#include "controller/rollout/rollout_halt.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/rollout/active_rollout.h"
#include "controller/rollout/rollout_changes.h"
#include "controller/rollout/rollout_records.h"
#include "controller/store/store.h"

namespace muster::controller::rollout {
namespace {

// What becomes of an active node. One that is being given back has nothing more to be done to it.
std::optional<NodeEvent> HaltOf(v1::RolloutStep step) {
  switch (step) {
    case v1::ROLLOUT_STEP_DRAINING:
    case v1::ROLLOUT_STEP_REQUEUING:
      return NodeEvent::kGivenBack;
    case v1::ROLLOUT_STEP_APPLYING:
      return NodeEvent::kApplyFailed;
    case v1::ROLLOUT_STEP_VALIDATING:
      return NodeEvent::kUntested;
    default:
      return std::nullopt;
  }
}

std::optional<RolloutMove> HaltOf(const RolloutRecord& record, absl::string_view when) {
  const auto state = static_cast<v1::RolloutState>(record.state);
  if (NextState(state, RolloutEvent::kPaused).ok()) {
    return RolloutMove{
        RolloutEvent::kPaused,
        absl::StrCat("was open ", when, "; muster rollout resume ", record.rollout_id,
                     " continues it, muster rollout abort ", record.rollout_id, " ends it"),
        ""};
  }
  if (state == v1::ROLLOUT_STATE_ROLLING_BACK) {
    return RolloutMove{
        RolloutEvent::kAborted,
        absl::StrCat("was being rolled back ", when, "; roll out what its nodes are to have"), ""};
  }
  return std::nullopt;
}

absl::Status Halt(Store& store, ActiveRollout& rollout, absl::string_view when, absl::Time now) {
  std::vector<NodeMove> moves;
  for (size_t i = 0; i < rollout.nodes.size(); ++i) {
    const std::optional<NodeEvent> event = HaltOf(rollout.step(i));
    if (!event.has_value()) continue;
    NodeMove& move = moves.emplace_back();
    move.node = i;
    move.event = event;
    move.message = absl::StrCat("was being ",
                                *event == NodeEvent::kGivenBack  ? "drained "
                                : *event == NodeEvent::kUntested ? "validated "
                                                                 : "updated ",
                                when);
  }
  return Commit(store, rollout, moves, HaltOf(rollout.record, when), ControllerActor(), now);
}

}  // namespace

absl::StatusOr<uint64_t> HaltOpen(Store& store, absl::string_view when, absl::Time now) {
  std::vector<ActiveRollout> open;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<RolloutRecord> records, txn.rollouts().ListOpen());
    for (const RolloutRecord& record : records) {
      ActiveRollout& rollout = open.emplace_back();
      rollout.record = record;
      ASSIGN_OR_RETURN(rollout.nodes, txn.rollouts().ListNodes(record.rollout_id));
      ASSIGN_OR_RETURN(const auto events, ReadEvents(txn, record.rollout_id, 0));
      if (!events.empty()) rollout.last_sequence = events.back().sequence();
      rollout.feed = std::make_shared<RolloutFeed>(kRolloutRetention, rollout.last_sequence);
    }
    return absl::OkStatus();
  }));
  for (ActiveRollout& rollout : open) RETURN_IF_ERROR(Halt(store, rollout, when, now));
  return open.size();
}

}  // namespace muster::controller::rollout
