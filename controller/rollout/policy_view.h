// What the store says about an update policy.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "controller/rollout/plan/update_policy_plan.h"

namespace muster::controller {
class Inventory;
class Transaction;
struct UpdatePolicy;
}  // namespace muster::controller

namespace muster::controller::rollout {

// A view whose contents are still to be looked up by their revisions, outside of the transaction.
struct StoredPolicy {
  std::shared_ptr<const UpdatePolicy> policy;
  PolicyView view;             // without contents, refusal and time
  uint64_t last_revision = 0;  // of the inventory, for view.last; 0: of no pair of today
  uint64_t applied_revision = 0;
};

// A bundle counts as accepted for a policy if an administrator approved it explicitly, or applied
// the playbook whole to all nodes of the policy, without -e. The administrators' last word counts,
// in the order in which they said it, also where it was revoked later.
absl::StatusOr<StoredPolicy> ReadPolicy(Transaction& txn, const Inventory& inventory,
                                        std::shared_ptr<const UpdatePolicy> policy);

}  // namespace muster::controller::rollout
