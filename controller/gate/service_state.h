// The life cycle of a node as one table, and what Slurm has to be told. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "controller/slurm/slurm_control.h"

namespace muster::controller::validation {

// Stored as these numbers.
enum class ServiceState {
  kKnown = 1,        // in the inventory
  kEnrolled = 2,     // has a certificate, never applied
  kConfigured = 3,   // applied, but has not passed with its present properties
  kInService = 4,    // has passed with its present properties
  kQuarantined = 5,  // failed a validation; only a pass leads out
  kRetired = 6,      // removed
};
absl::string_view ServiceStateName(ServiceState state);

enum class ServiceEvent {
  kEnrolled,
  kApplied,
  kPassed,   // a validation, with its present properties
  kFailed,   // a validation
  kChanged,  // GPUs, driver or kernel differ from those that passed
  kRemoved,
};
absl::string_view ServiceEventName(ServiceEvent event);

struct ServiceTransition {
  ServiceState state;
  ServiceEvent event;
  ServiceState next;
};
absl::Span<const ServiceTransition> ServiceTransitions();

// FailedPrecondition: the table has no such row.
absl::StatusOr<ServiceState> NextServiceState(ServiceState state, ServiceEvent event);

struct ServiceAction {
  enum Kind { kNone, kDrain, kResume };
  Kind kind = kNone;
  std::string reason;  // of kDrain, with its owner tag
  // The resulting state of the node: "in service", "not validated", "quarantined: failed
  // v-7k3m9q2x", "being validated: v-7k3m9q2x", "drained by root: bad disk", "quarantined by
  // gpu_lost: GPU-5c1f: Xid 79".
  std::string service;
};
// What keeps a node out, whatever it has passed: a person's drain, or an update.
struct ServiceHold {
  std::string owner;   // "admin:ann", "u-7k3m9q2x"
  std::string reason;  // for people
  bool is_quarantine = false;
};

// The reason of a rollout's hold while it has the node. It gives the node back, unlike one that has
// failed.
inline constexpr absl::string_view kBeingUpdated = "being updated";

// What keeps a node out of Slurm that does not take jobs there.
enum class KeptOutBy {
  kItself,  // it is down, quarantined, not validated, drained by slurmctld itself, …
  kWork,    // a validation, a run or a rollout has it, and gives it back
  kPerson,  // somebody has drained it or taken it down, by Slurm or by Muster
};
KeptOutBy WhatKeepsOut(const slurm::SlurmNode& node);

// The hold that the node's reason in Slurm tells of: a person's drain, a validation or an update
// that failed, a condition. nullopt: it takes jobs, the drain is not Muster's, or it ends by
// itself, as those of work in progress and of nodes without a pass do.
std::optional<ServiceHold> HoldInSlurm(const slurm::SlurmNode& node);

// The text of a service in one of few words, none of which names anybody, for counting: "in
// service"; "resuming": in service, which Slurm has not been told yet; "down": in service, but
// Slurm does not use it; "taken down"; "drained"; "quarantined"; "rebooted"; "being validated";
// "not validated"; "other": above all, what Slurm says of a node that has not joined. Empty for an
// empty text.
absl::string_view ServiceWord(absl::string_view service);

// Never touches a drain that Muster did not make. `failed` is the validation that quarantined the
// node; `testing` the one that is running on it, for which it is drained whatever its state.
// `hold`: nullptr: nothing holds it. `awaits_facts`: its present facts are not known yet; it is
// not given back then, and if it serves it is left alone. A node that does not answer Slurm is
// given back once it does. One that answers and is down with a reason of Muster's is drained again,
// or resumed: Slurm takes a node down that comes back from a boot, and would leave it so.
ServiceAction DecideService(ServiceState state, absl::string_view failed, absl::string_view testing,
                            const slurm::SlurmNode& node, const ServiceHold* hold = nullptr,
                            bool awaits_facts = false);

}  // namespace muster::controller::validation
