// The way of one node through a rollout, as one table. Pure.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller::rollout {

enum class NodeEvent {
  kTaken,        // it has a slot
  kPassedOver,   // its jobs take too long; it comes last
  kGivenBack,    // nobody may have it updated now
  kLeftOut,      // it will not be updated
  kOverdue,      // its jobs take too long, and are requeued
  kIdle,         // no job is on it, and none can start
  kApplied,      // its run succeeded
  kUnchanged,    // its run succeeded and changed nothing, and the node's pass holds
  kApplyFailed,  // its run failed, or the node was lost
  kPassed,       // the suite, or there is none
  kNotPassed,    // it failed the suite
  kUntested,     // the validation ended without a verdict, or the node cannot be let in
  kBack,         // it is in service again, or as out of service as it was before
};
absl::string_view NodeEventName(NodeEvent event);

struct NodeTransition {
  v1::RolloutStep step;
  NodeEvent event;
  v1::RolloutStep next;
};
absl::Span<const NodeTransition> NodeTransitions();

// FailedPrecondition: the table has no such row.
absl::StatusOr<v1::RolloutStep> NextStep(v1::RolloutStep step, NodeEvent event);

// "pending", "draining", … for people and the audit log.
absl::string_view StepName(v1::RolloutStep step);
// The node holds a slot: from the moment in which it is taken until it is done, failed or left out.
bool IsActive(v1::RolloutStep step);
// The node is taken, and waits until no job is on it.
bool IsEmptying(v1::RolloutStep step);
// Nothing more happens to the node in this rollout.
bool IsOver(v1::RolloutStep step);
// Failed or quarantined.
bool IsFailure(v1::RolloutStep step);

}  // namespace muster::controller::rollout
