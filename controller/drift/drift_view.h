// What the store says about a drift policy.
#pragma once

#include <string>

#include "absl/status/statusor.h"
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

// Without `now` and NodeView::is_free. What the policy has done is its runs and rollouts
// themselves, so that nothing is done twice, whenever the process ends. Looks at the newest
// thousand runs: a check that is further back is as good as none.
absl::StatusOr<PolicyView> ReadPolicy(Transaction& txn, const Inventory& inventory,
                                      const DriftPolicy& policy);

}  // namespace muster::controller::drift
