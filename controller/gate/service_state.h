// A node's life as one table, and what Slurm has to hear of it. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "controller/slurm/slurm_control.h"

namespace muster::controller::validation {

// In the store as these numbers.
enum class ServiceState {
  kKnown = 1,        // in the inventory
  kEnrolled = 2,     // has a certificate, never applied
  kConfigured = 3,   // applied, and has not passed as what it is now
  kInService = 4,    // has passed as what it is now
  kQuarantined = 5,  // failed a validation; only a pass leads out
  kRetired = 6,      // removed
};
absl::string_view ServiceStateName(ServiceState state);

enum class ServiceEvent {
  kEnrolled,
  kApplied,
  kPassed,   // a validation, as what it is now
  kFailed,   // a validation
  kChanged,  // other GPUs, another driver or kernel than those that passed
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
  // How the node stands then: "in service", "not validated", "quarantined: failed v-7k3m9q2x",
  // "being validated: v-7k3m9q2x", "drained by root: bad disk".
  std::string service;
};
// A drain that Muster did not make is never touched. `failed` is the validation that put the node
// into quarantine; `testing` the one that runs on it, for which it is drained whatever its state.
ServiceAction DecideService(ServiceState state, absl::string_view failed, absl::string_view testing,
                            const slurm::SlurmNode& node);

}  // namespace muster::controller::validation
