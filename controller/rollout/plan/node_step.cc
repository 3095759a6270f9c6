#include "controller/rollout/plan/node_step.h"

#include "absl/strings/str_cat.h"

namespace muster::controller::rollout {
namespace {

constexpr NodeTransition kNodeTransitions[] = {
    {v1::ROLLOUT_STEP_PENDING, NodeEvent::kTaken, v1::ROLLOUT_STEP_DRAINING},
    {v1::ROLLOUT_STEP_PENDING, NodeEvent::kLeftOut, v1::ROLLOUT_STEP_SKIPPED},
    {v1::ROLLOUT_STEP_DRAINING, NodeEvent::kIdle, v1::ROLLOUT_STEP_APPLYING},
    {v1::ROLLOUT_STEP_DRAINING, NodeEvent::kPassedOver, v1::ROLLOUT_STEP_PENDING},
    {v1::ROLLOUT_STEP_DRAINING, NodeEvent::kGivenBack, v1::ROLLOUT_STEP_PENDING},
    {v1::ROLLOUT_STEP_DRAINING, NodeEvent::kLeftOut, v1::ROLLOUT_STEP_SKIPPED},
    {v1::ROLLOUT_STEP_DRAINING, NodeEvent::kOverdue, v1::ROLLOUT_STEP_REQUEUING},
    {v1::ROLLOUT_STEP_REQUEUING, NodeEvent::kIdle, v1::ROLLOUT_STEP_APPLYING},
    {v1::ROLLOUT_STEP_REQUEUING, NodeEvent::kPassedOver, v1::ROLLOUT_STEP_PENDING},
    {v1::ROLLOUT_STEP_REQUEUING, NodeEvent::kGivenBack, v1::ROLLOUT_STEP_PENDING},
    {v1::ROLLOUT_STEP_REQUEUING, NodeEvent::kLeftOut, v1::ROLLOUT_STEP_SKIPPED},
    {v1::ROLLOUT_STEP_APPLYING, NodeEvent::kApplied, v1::ROLLOUT_STEP_VALIDATING},
    {v1::ROLLOUT_STEP_APPLYING, NodeEvent::kUnchanged, v1::ROLLOUT_STEP_RESUMING},
    {v1::ROLLOUT_STEP_APPLYING, NodeEvent::kApplyFailed, v1::ROLLOUT_STEP_FAILED},
    {v1::ROLLOUT_STEP_VALIDATING, NodeEvent::kPassed, v1::ROLLOUT_STEP_RESUMING},
    {v1::ROLLOUT_STEP_VALIDATING, NodeEvent::kNotPassed, v1::ROLLOUT_STEP_QUARANTINED},
    {v1::ROLLOUT_STEP_VALIDATING, NodeEvent::kUntested, v1::ROLLOUT_STEP_FAILED},
    {v1::ROLLOUT_STEP_RESUMING, NodeEvent::kBack, v1::ROLLOUT_STEP_DONE},
    // Without a suite, a node that is another machine now has nothing to be let in by. Others stay
    // down in Slurm.
    {v1::ROLLOUT_STEP_RESUMING, NodeEvent::kUntested, v1::ROLLOUT_STEP_FAILED},
    // A node that is removed from the cluster frees its slot; so does one whose run has not begun
    // when the rollout is to end.
    {v1::ROLLOUT_STEP_APPLYING, NodeEvent::kLeftOut, v1::ROLLOUT_STEP_SKIPPED},
    {v1::ROLLOUT_STEP_VALIDATING, NodeEvent::kLeftOut, v1::ROLLOUT_STEP_SKIPPED},
    {v1::ROLLOUT_STEP_RESUMING, NodeEvent::kLeftOut, v1::ROLLOUT_STEP_SKIPPED},
};

}  // namespace

absl::string_view NodeEventName(NodeEvent event) {
  switch (event) {
    case NodeEvent::kTaken:
      return "taken";
    case NodeEvent::kPassedOver:
      return "passed over";
    case NodeEvent::kGivenBack:
      return "given back";
    case NodeEvent::kLeftOut:
      return "left out";
    case NodeEvent::kOverdue:
      return "overdue";
    case NodeEvent::kIdle:
      return "idle";
    case NodeEvent::kApplied:
      return "applied";
    case NodeEvent::kUnchanged:
      return "unchanged";
    case NodeEvent::kApplyFailed:
      return "apply failed";
    case NodeEvent::kPassed:
      return "passed";
    case NodeEvent::kNotPassed:
      return "not passed";
    case NodeEvent::kUntested:
      return "untested";
    case NodeEvent::kBack:
      return "back";
  }
  return "?";
}

absl::Span<const NodeTransition> NodeTransitions() { return kNodeTransitions; }

absl::StatusOr<v1::RolloutStep> NextStep(v1::RolloutStep step, NodeEvent event) {
  for (const NodeTransition& row : kNodeTransitions) {
    if (row.step == step && row.event == event) return row.next;
  }
  return absl::FailedPreconditionError(absl::StrCat("a node of a rollout that is ", StepName(step),
                                                    " cannot become ", NodeEventName(event)));
}

absl::string_view StepName(v1::RolloutStep step) {
  switch (step) {
    case v1::ROLLOUT_STEP_PENDING:
      return "pending";
    case v1::ROLLOUT_STEP_DRAINING:
      return "draining";
    case v1::ROLLOUT_STEP_REQUEUING:
      return "requeuing";
    case v1::ROLLOUT_STEP_APPLYING:
      return "applying";
    case v1::ROLLOUT_STEP_VALIDATING:
      return "validating";
    case v1::ROLLOUT_STEP_RESUMING:
      return "resuming";
    case v1::ROLLOUT_STEP_DONE:
      return "done";
    case v1::ROLLOUT_STEP_FAILED:
      return "failed";
    case v1::ROLLOUT_STEP_QUARANTINED:
      return "quarantined";
    case v1::ROLLOUT_STEP_SKIPPED:
      return "skipped";
    default:
      return "?";
  }
}

bool IsActive(v1::RolloutStep step) {
  return IsEmptying(step) || step == v1::ROLLOUT_STEP_APPLYING ||
         step == v1::ROLLOUT_STEP_VALIDATING || step == v1::ROLLOUT_STEP_RESUMING;
}

bool IsEmptying(v1::RolloutStep step) {
  return step == v1::ROLLOUT_STEP_DRAINING || step == v1::ROLLOUT_STEP_REQUEUING;
}

bool IsOver(v1::RolloutStep step) {
  return step == v1::ROLLOUT_STEP_DONE || step == v1::ROLLOUT_STEP_SKIPPED || IsFailure(step);
}

bool IsFailure(v1::RolloutStep step) {
  return step == v1::ROLLOUT_STEP_FAILED || step == v1::ROLLOUT_STEP_QUARANTINED;
}

}  // namespace muster::controller::rollout
