#include "controller/run/plan/earlier_approvals.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "controller/artifact/bundle_approvals.h"
#include "controller/run/run_records.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

constexpr uint32_t kRunsLookedAt = 200;

}  // namespace

absl::Status AdoptEarlierRuns(Store& store, BundleApprovals& approvals) {
  std::vector<RunRecord> runs;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto known, txn.bundle_approvals().List());
    if (!known.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(runs, txn.runs().List(kRunsLookedAt));
    return absl::OkStatus();
  }));
  std::vector<BundleApprovalRecord> adopted;
  std::set<std::pair<std::string, std::string>> seen;
  for (const RunRecord& run : runs) {
    const v1::CreateRunRequest request = RequestOf(run);
    if (!IsAppliedWhole(request) ||
        !seen.emplace(request.bundle_sha256(), request.playbook()).second) {
      continue;
    }
    std::optional<BundleApprovalRecord> approval = approvals.ByRunning(
        run.created_by, request.bundle_sha256(), request.playbook(), run.run_id);
    if (!approval.has_value()) continue;
    approval->approved_at = run.created_at;
    adopted.push_back(*std::move(approval));
  }
  return store.Update([&](Transaction& txn) -> absl::Status {
    for (const BundleApprovalRecord& approval : adopted)
      RETURN_IF_ERROR(BundleApprovals::Keep(txn, approval));
    return absl::OkStatus();
  });
}

}  // namespace muster::controller
