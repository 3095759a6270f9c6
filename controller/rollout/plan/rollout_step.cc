#include "controller/rollout/plan/rollout_step.h"

#include "absl/strings/str_cat.h"

namespace muster::controller::rollout {
namespace {

constexpr RolloutTransition kRolloutTransitions[] = {
    {v1::ROLLOUT_STATE_ROLLING, RolloutEvent::kWaveDone, v1::ROLLOUT_STATE_SOAKING},
    {v1::ROLLOUT_STATE_ROLLING, RolloutEvent::kPaused, v1::ROLLOUT_STATE_PAUSED},
    {v1::ROLLOUT_STATE_ROLLING, RolloutEvent::kAborted, v1::ROLLOUT_STATE_ABORTING},
    {v1::ROLLOUT_STATE_ROLLING, RolloutEvent::kRolledBack, v1::ROLLOUT_STATE_ROLLING_BACK},
    {v1::ROLLOUT_STATE_ROLLING, RolloutEvent::kCompleted, v1::ROLLOUT_STATE_COMPLETED},
    {v1::ROLLOUT_STATE_SOAKING, RolloutEvent::kSoaked, v1::ROLLOUT_STATE_ROLLING},
    {v1::ROLLOUT_STATE_SOAKING, RolloutEvent::kPaused, v1::ROLLOUT_STATE_PAUSED},
    {v1::ROLLOUT_STATE_SOAKING, RolloutEvent::kAborted, v1::ROLLOUT_STATE_ABORTING},
    {v1::ROLLOUT_STATE_SOAKING, RolloutEvent::kRolledBack, v1::ROLLOUT_STATE_ROLLING_BACK},
    {v1::ROLLOUT_STATE_PAUSED, RolloutEvent::kResumed, v1::ROLLOUT_STATE_ROLLING},
    {v1::ROLLOUT_STATE_PAUSED, RolloutEvent::kAborted, v1::ROLLOUT_STATE_ABORTING},
    {v1::ROLLOUT_STATE_PAUSED, RolloutEvent::kRolledBack, v1::ROLLOUT_STATE_ROLLING_BACK},
    {v1::ROLLOUT_STATE_ABORTING, RolloutEvent::kRolledBack, v1::ROLLOUT_STATE_ROLLING_BACK},
    {v1::ROLLOUT_STATE_ABORTING, RolloutEvent::kSettled, v1::ROLLOUT_STATE_ABORTED},
    {v1::ROLLOUT_STATE_ROLLING_BACK, RolloutEvent::kAborted, v1::ROLLOUT_STATE_ABORTING},
    {v1::ROLLOUT_STATE_ROLLING_BACK, RolloutEvent::kSettled, v1::ROLLOUT_STATE_ROLLED_BACK},
};

}  // namespace

absl::string_view RolloutEventName(RolloutEvent event) {
  switch (event) {
    case RolloutEvent::kWaveDone:
      return "taken to the next wave";
    case RolloutEvent::kSoaked:
      return "continued after the soak";
    case RolloutEvent::kPaused:
      return "paused";
    case RolloutEvent::kResumed:
      return "resumed";
    case RolloutEvent::kAborted:
      return "aborted";
    case RolloutEvent::kRolledBack:
      return "rolled back";
    case RolloutEvent::kCompleted:
      return "completed";
    case RolloutEvent::kSettled:
      return "settled";
  }
  return "?";
}

absl::Span<const RolloutTransition> RolloutTransitions() { return kRolloutTransitions; }

absl::StatusOr<v1::RolloutState> NextState(v1::RolloutState state, RolloutEvent event) {
  for (const RolloutTransition& row : kRolloutTransitions) {
    if (row.state == state && row.event == event) return row.next;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("rollout is ", StateName(state), ", and cannot be ", RolloutEventName(event)));
}

absl::string_view StateName(v1::RolloutState state) {
  switch (state) {
    case v1::ROLLOUT_STATE_ROLLING:
      return "rolling";
    case v1::ROLLOUT_STATE_SOAKING:
      return "soaking";
    case v1::ROLLOUT_STATE_PAUSED:
      return "paused";
    case v1::ROLLOUT_STATE_ABORTING:
      return "aborting";
    case v1::ROLLOUT_STATE_ROLLING_BACK:
      return "rolling back";
    case v1::ROLLOUT_STATE_COMPLETED:
      return "completed";
    case v1::ROLLOUT_STATE_ABORTED:
      return "aborted";
    case v1::ROLLOUT_STATE_ROLLED_BACK:
      return "rolled back";
    default:
      return "?";
  }
}

bool IsEnding(v1::RolloutState state) {
  return state == v1::ROLLOUT_STATE_ABORTING || state == v1::ROLLOUT_STATE_ROLLING_BACK;
}

bool HasEnded(v1::RolloutState state) {
  return state == v1::ROLLOUT_STATE_COMPLETED || state == v1::ROLLOUT_STATE_ABORTED ||
         state == v1::ROLLOUT_STATE_ROLLED_BACK;
}

}  // namespace muster::controller::rollout
