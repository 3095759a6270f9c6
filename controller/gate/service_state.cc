#include "controller/gate/service_state.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/text/slurm_state.h"

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

// How the texts of services begin, and the word for them. The first that fits counts.
struct ServiceWordRow {
  absl::string_view begin;
  absl::string_view word;
};
constexpr ServiceWordRow kServiceWords[] = {
    {"in service, but ", "down"},
    {"in service; ", "resuming"},
    {"in service", "in service"},
    {"not validated", "not validated"},
    {"being validated", "being validated"},
    {"drained", "drained"},
    {"taken down", "taken down"},
    {"quarantined", "quarantined"},
    {"rebooted", "rebooted"},
};

// The owner of drains of nodes that have not passed.
constexpr absl::string_view kGate = "gate";
// The text of the drain by a validation that is running.
constexpr absl::string_view kBeingValidated = "being validated";
// How the text of a quarantine's drain begins.
constexpr absl::string_view kQuarantineText = "quarantined: ";
// How the owners begin of drains by runs that reboot nodes, and of those by persons.
constexpr absl::string_view kRun = "r-";
constexpr absl::string_view kPersons[] = {"admin:", "operator:"};

// Whether a validation, a run or a rollout that is in progress drained the node.
bool IsOfWork(const std::string& owner, const std::string& reason) {
  return absl::StartsWith(owner, kRun) || reason == slurm::OwnReason(owner, kBeingValidated) ||
         reason == slurm::OwnReason(owner, kBeingUpdated);
}

std::string HeldBecause(const slurm::SlurmNode& node) {
  return absl::StrCat(node.is_drained ? "drained by " : "taken down by ",
                      node.reason_user.empty() ? "somebody" : node.reason_user,
                      node.reason.empty() ? "" : ": ", node.reason);
}

// The state of a node of Muster's: the reason for Slurm (empty: none, it is in service), and the
// text for people.
struct Standing {
  std::string reason;
  std::string service;
};

Standing StandingOf(ServiceState state, absl::string_view failed, absl::string_view testing,
                    const ServiceHold* hold) {
  if (!testing.empty()) {
    return {slurm::OwnReason(testing, kBeingValidated),
            absl::StrCat(kBeingValidated, ": ", testing)};
  }
  if (hold != nullptr) {
    // "ann" rather than "admin:ann".
    absl::string_view owner = hold->owner;
    owner.remove_prefix(owner.find(':') == absl::string_view::npos ? 0 : owner.find(':') + 1);
    return {slurm::OwnReason(hold->owner, absl::StrCat(hold->is_quarantine ? kQuarantineText : "",
                                                       hold->reason)),
            absl::StrCat(hold->is_quarantine ? "quarantined by " : "drained by ", owner, ": ",
                         hold->reason)};
  }
  if (state == State::kInService) return {"", "in service"};
  if (state == State::kQuarantined && !failed.empty()) {
    return {slurm::OwnReason(failed, "failed this validation"),
            absl::StrCat("quarantined: failed ", failed)};
  }
  return {
      slurm::OwnReason(kGate, "has not passed a validation with its present hardware and software"),
      "not validated"};
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

KeptOutBy WhatKeepsOut(const slurm::SlurmNode& node) {
  if (!node.is_drained && !node.is_held) return KeptOutBy::kItself;
  const std::optional<std::string> owner = slurm::OwnerOf(node.reason);
  if (!owner.has_value())
    return node.reason_user == kSlurmUser ? KeptOutBy::kItself : KeptOutBy::kPerson;
  if (IsOfWork(*owner, node.reason)) return KeptOutBy::kWork;
  for (const absl::string_view person : kPersons) {
    if (absl::StartsWith(*owner, person)) return KeptOutBy::kPerson;
  }
  return KeptOutBy::kItself;
}

std::optional<ServiceHold> HoldInSlurm(const slurm::SlurmNode& node) {
  const std::optional<std::string> owner = slurm::OwnerOf(node.reason);
  if (!owner.has_value() || !(node.is_drained || node.is_down) || *owner == kGate ||
      IsOfWork(*owner, node.reason))
    return std::nullopt;
  absl::string_view text = node.reason;
  text.remove_prefix(text.find(' ') + 1);
  const bool is_quarantine = absl::ConsumePrefix(&text, kQuarantineText);
  return ServiceHold{*owner, std::string(text), is_quarantine};
}

absl::string_view ServiceWord(absl::string_view service) {
  if (service.empty()) return "";
  for (const ServiceWordRow& row : kServiceWords) {
    if (absl::StartsWith(service, row.begin)) return row.word;
  }
  return "other";
}

ServiceAction DecideService(ServiceState state, absl::string_view failed, absl::string_view testing,
                            const slurm::SlurmNode& node, const ServiceHold* hold,
                            bool awaits_facts) {
  const bool is_ours = slurm::OwnerOf(node.reason).has_value();
  if ((node.is_drained || node.is_held) && !is_ours) {
    return {ServiceAction::kNone, "", HeldBecause(node)};
  }
  // Not yet Muster's, or not any more.
  if (state == State::kKnown || state == State::kRetired) {
    return {ServiceAction::kNone, "", node.state};
  }
  Standing standing = StandingOf(state, failed, testing, hold);
  if (standing.reason.empty() && awaits_facts && node.is_drained) {
    standing = {slurm::OwnReason(kGate, "has rebooted and not reported its facts since"),
                "rebooted: its facts are not known yet"};
  }
  const bool is_to_revive = is_ours && node.is_down && !node.is_silent;
  if (standing.reason.empty()) {
    if (is_to_revive || (node.is_drained && !node.is_silent))
      return {ServiceAction::kResume, "", std::move(standing.service)};
    if (!node.takes_jobs) absl::StrAppend(&standing.service, ", but ", node.state);
    return {ServiceAction::kNone, "", std::move(standing.service)};
  }
  const bool is_done = node.is_drained && node.reason == standing.reason && !is_to_revive;
  return {is_done ? ServiceAction::kNone : ServiceAction::kDrain,
          is_done ? std::string() : std::move(standing.reason), std::move(standing.service)};
}

}  // namespace muster::controller::validation
