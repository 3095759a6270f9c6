// The life of a rollout, as one table. Pure.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller::rollout {

enum class RolloutEvent {
  kWaveDone,    // every node of the wave is over, and another wave follows
  kSoaked,      // the wave was watched long enough
  kPaused,      // by somebody, or by failures
  kResumed,     // by somebody
  kAborted,     // by somebody
  kRolledBack,  // by somebody, or by failures
  kCompleted,   // every node is over
  kSettled,     // it was to end, and no node is active any more
};
absl::string_view RolloutEventName(RolloutEvent event);

struct RolloutTransition {
  v1::RolloutState state;
  RolloutEvent event;
  v1::RolloutState next;
};
absl::Span<const RolloutTransition> RolloutTransitions();

// FailedPrecondition: the table has no such row; the message is for people ("rollout is completed,
// and cannot be paused").
absl::StatusOr<v1::RolloutState> NextState(v1::RolloutState state, RolloutEvent event);

// "rolling", "rolling back", … for people and the audit log.
absl::string_view StateName(v1::RolloutState state);
// Aborting or rolling back: no node's update begins any more.
bool IsEnding(v1::RolloutState state);
// Completed, aborted or rolled back.
bool HasEnded(v1::RolloutState state);

}  // namespace muster::controller::rollout
