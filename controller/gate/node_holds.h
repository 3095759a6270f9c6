// Persons' drains: nodes that stay out of Slurm until somebody resumes them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {
struct Actor;
class Transaction;
}  // namespace muster::controller

namespace muster::controller::validation {

// Keeps these nodes out in the actor's name, and writes it into the audit log; the gate has to be
// woken. Again: changes the reason. FailedPrecondition: one of them has not joined.
absl::Status HoldNodes(Transaction& txn, const std::vector<std::string>& nodes, const Actor& actor,
                       absl::string_view reason, absl::Time now);

// Ends whatever keeps these nodes out: drains of anybody, and those of updates that have failed.
// Nodes that nothing keeps out are fine. FailedPrecondition: one has not joined, a rollout is
// updating it, a run is rebooting it, or it is quarantined for a condition that is not well yet.
// PermissionDenied: it is quarantined, and the actor is no administrator.
absl::Status FreeNodes(Transaction& txn, const std::vector<std::string>& nodes, const Actor& actor,
                       absl::string_view reason, absl::Time now);

}  // namespace muster::controller::validation
