#include "controller/validation/service_state.h"

#include "absl/strings/str_cat.h"

namespace muster::controller::validation {
namespace {

using State = ServiceState;
using Event = ServiceEvent;

constexpr ServiceTransition kTransitions[] = {
    {State::kKnown, Event::kEnrolled, State::kEnrolled},
    {State::kKnown, Event::kRemoved, State::kRetired},
    {State::kEnrolled, Event::kApplied, State::kConfigured},
    {State::kEnrolled, Event::kFailed, State::kQuarantined},
    {State::kEnrolled, Event::kRemoved, State::kRetired},
    {State::kConfigured, Event::kApplied, State::kConfigured},
    {State::kConfigured, Event::kPassed, State::kInService},
    {State::kConfigured, Event::kFailed, State::kQuarantined},
    {State::kConfigured, Event::kRemoved, State::kRetired},
    {State::kInService, Event::kApplied, State::kInService},
    {State::kInService, Event::kPassed, State::kInService},
    {State::kInService, Event::kFailed, State::kQuarantined},
    {State::kInService, Event::kChanged, State::kConfigured},
    {State::kInService, Event::kRemoved, State::kRetired},
    {State::kQuarantined, Event::kApplied, State::kQuarantined},
    {State::kQuarantined, Event::kPassed, State::kInService},
    {State::kQuarantined, Event::kFailed, State::kQuarantined},
    {State::kQuarantined, Event::kRemoved, State::kRetired},
};

// The owner of drains of nodes that have not passed.
constexpr absl::string_view kGate = "gate";

std::string DrainedBy(const slurm::SlurmNode& node) {
  return absl::StrCat("drained by ", node.reason_user.empty() ? "somebody" : node.reason_user,
                      node.reason.empty() ? "" : ": ", node.reason);
}

}  // namespace

absl::string_view ServiceStateName(ServiceState state) {
  switch (state) {
    case State::kKnown:
      return "known";
    case State::kEnrolled:
      return "enrolled";
    case State::kConfigured:
      return "configured";
    case State::kInService:
      return "in service";
    case State::kQuarantined:
      return "quarantined";
    case State::kRetired:
      return "retired";
  }
  return "?";
}

absl::string_view ServiceEventName(ServiceEvent event) {
  switch (event) {
    case Event::kEnrolled:
      return "enrolled";
    case Event::kApplied:
      return "applied";
    case Event::kPassed:
      return "passed";
    case Event::kFailed:
      return "failed";
    case Event::kChanged:
      return "changed";
    case Event::kRemoved:
      return "removed";
  }
  return "?";
}

absl::Span<const ServiceTransition> ServiceTransitions() { return kTransitions; }

absl::StatusOr<ServiceState> NextServiceState(ServiceState state, ServiceEvent event) {
  for (const ServiceTransition& row : kTransitions) {
    if (row.state == state && row.event == event) return row.next;
  }
  return absl::FailedPreconditionError(absl::StrCat("a node that is ", ServiceStateName(state),
                                                    " cannot have ", ServiceEventName(event)));
}

ServiceAction DecideService(ServiceState state, absl::string_view owner,
                            const slurm::SlurmNode& node) {
  const std::optional<std::string> drained_by = slurm::OwnerOf(node.reason);
  if (node.is_drained && !drained_by.has_value()) {
    return {ServiceAction::kNone, "", DrainedBy(node)};
  }
  if (state == State::kInService) {
    if (node.is_drained) return {ServiceAction::kResume, "", "in service"};
    return {ServiceAction::kNone, "", node.takes_jobs ? "in service" : node.state};
  }
  // Not yet Muster's, or no longer.
  if (state == State::kKnown || state == State::kRetired) {
    return {ServiceAction::kNone, "", node.is_drained ? "drained by muster" : node.state};
  }
  const absl::string_view id = owner.empty() ? kGate : owner;
  if (node.is_drained && *drained_by == id) {
    return {ServiceAction::kNone, "", "drained by muster"};
  }
  const std::string reason =
      slurm::OwnReason(id, owner.empty() ? "has not passed a validation as what it is now"
                                         : "failed this validation");
  return {ServiceAction::kDrain, reason, "drained by muster"};
}

}  // namespace muster::controller::validation
