// What the store says about a drift policy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/drift/drift_plan.h"

namespace muster::controller {
class Inventory;
class Transaction;
struct DriftPolicy;
}  // namespace muster::controller

namespace muster::controller::drift {

// The name of the policy's actor in the audit log and of its runs: "policy:drift/site". No update
// policy has the same.
std::string ActorOf(const DriftPolicy& policy);

// What the runs up to one of them tell of a policy. Kept from one look to the next, as the apply
// that a node is compared with may be years back, behind the checks of all that time.
struct RunHistory {
  std::string playbook;
  std::vector<NodeView> nodes;  // the policy's, with `applied` and `checked` alone
  std::optional<absl::Time> last_check;
  // This run and those before it have nothing to add. Empty: no run was read yet.
  std::string read_to;
};

// Without `now` and NodeView::is_free. What the policy has done is its runs and rollouts
// themselves, so that nothing is done twice, whenever the process ends. Reads only runs that
// `history` does not have yet, and adds them; an empty history, or one of other nodes or another
// playbook, begins anew.
absl::StatusOr<PolicyView> ReadPolicy(Transaction& txn, const Inventory& inventory,
                                      const DriftPolicy& policy, RunHistory& history);

}  // namespace muster::controller::drift
