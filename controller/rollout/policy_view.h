// What the store says about an update policy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "controller/rollout/applications.h"
#include "controller/rollout/plan/update_policy_plan.h"
#include "controller/store/tables.h"

namespace muster::controller {
class Transaction;
struct UpdatePolicy;
}  // namespace muster::controller

namespace muster::controller::rollout {

// The records from which the view of a policy is made.
struct PolicyRecords {
  std::shared_ptr<const UpdatePolicy> policy;
  std::optional<RolloutRecord> last;            // its newest rollout, apart from ways back
  std::vector<BundleApprovalRecord> approvals;  // of all bundles
  std::vector<Application> applications;        // of its playbook
  std::vector<PolicyView::Other> others;
};
absl::StatusOr<PolicyRecords> ReadPolicy(Transaction& txn,
                                         std::shared_ptr<const UpdatePolicy> policy);

// A view whose contents are still to be looked up by their revisions.
struct StoredPolicy {
  std::shared_ptr<const UpdatePolicy> policy;
  PolicyView view;             // without contents, refusal and time
  uint64_t last_revision = 0;  // of the inventory, for view.last; 0: of no pair of today
  uint64_t applied_revision = 0;
};

// A bundle counts as accepted for a policy if an administrator approved it explicitly, or applied
// the playbook whole to all nodes of the policy, without -e, even where it failed on some. The
// administrators' last word counts, in the order in which they said it, also where it was revoked
// later. `covers`: Covers() with the policy's nodes.
absl::StatusOr<StoredPolicy> ViewOf(
    PolicyRecords records,
    absl::FunctionRef<absl::StatusOr<bool>(uint64_t revision, const std::string& limit)> covers);

}  // namespace muster::controller::rollout
