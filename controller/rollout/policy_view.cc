#include "controller/rollout/policy_view.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/inventory/update_policy.h"
#include "controller/rollout/rollout_records.h"
#include "controller/store/store.h"

namespace muster::controller::rollout {
namespace {

constexpr absl::string_view kAdmin = "admin:";
// How far back the policy's own rollouts are looked for.
constexpr uint32_t kOwnRollouts = 1000;

// What the approvals say about one playbook.
struct Approvals {
  std::map<std::string, std::string> revoked_by;  // every bundle; "": an approval is in force
  std::optional<PolicyView::Acceptance> newest;   // of the explicit ones
};

Approvals ApprovalsOf(const std::vector<BundleApprovalRecord>& rows, const std::string& playbook) {
  Approvals approvals;
  for (const BundleApprovalRecord& each : rows) {
    if (!each.path.empty() && each.path != playbook) continue;
    const auto [at, is_new] = approvals.revoked_by.emplace(each.sha256, each.revoked_by);
    if (!is_new && each.revoked_by.empty()) at->second.clear();
    const bool is_explicit = each.run_id.empty();
    if (is_explicit && (!approvals.newest.has_value() || each.approved_at > approvals.newest->at))
      approvals.newest =
          PolicyView::Acceptance{each.sha256, each.approved_by, each.approved_at, ""};
  }
  return approvals;
}

}  // namespace

absl::StatusOr<PolicyRecords> ReadPolicy(Transaction& txn,
                                         std::shared_ptr<const UpdatePolicy> policy) {
  PolicyRecords records;
  const std::string actor = PolicyActor(policy->name).name;
  ASSIGN_OR_RETURN(const auto rollouts, txn.rollouts().List(kOwnRollouts));
  const auto last =
      std::find_if(rollouts.begin(), rollouts.end(), [&](const RolloutRecord& record) {
        return record.created_by == actor && RequestOf(record).rolls_back_id().empty();
      });
  if (last != rollouts.end()) records.last = *last;
  ASSIGN_OR_RETURN(records.approvals, txn.bundle_approvals().List());
  ASSIGN_OR_RETURN(records.applications, ReadApplications(txn, policy->request.playbook()));
  const std::set<std::string> wanted(policy->nodes.begin(), policy->nodes.end());
  ASSIGN_OR_RETURN(const auto open, txn.rollouts().ListOpen());
  for (const RolloutRecord& other : open) {
    if (records.last.has_value() && other.rollout_id == records.last->rollout_id) continue;
    ASSIGN_OR_RETURN(const auto nodes, txn.rollouts().ListNodes(other.rollout_id));
    if (std::any_of(nodes.begin(), nodes.end(),
                    [&](const RolloutNodeRecord& node) { return wanted.count(node.node) > 0; })) {
      records.others.push_back({other.rollout_id, other.created_by});
    }
  }
  records.policy = std::move(policy);
  return records;
}

absl::StatusOr<StoredPolicy> ViewOf(
    PolicyRecords records,
    absl::FunctionRef<absl::StatusOr<bool>(uint64_t revision, const std::string& limit)> covers) {
  StoredPolicy stored;
  stored.policy = std::move(records.policy);
  PolicyView& view = stored.view;
  view.playbook = stored.policy->request.playbook();
  view.others = std::move(records.others);
  for (const std::string& text : stored.policy->request.windows()) {
    ASSIGN_OR_RETURN(const Window window, ParseWindow(text));
    view.windows.push_back(window);
  }
  const std::string actor = PolicyActor(stored.policy->name).name;
  bool is_of_playbook = false;
  if (records.last.has_value()) {
    const RolloutRecord& record = *records.last;
    const v1::CreateRolloutRequest request = RequestOf(record);
    view.last = PolicyView::Attempt{record.rollout_id,
                                    {request.bundle_sha256(), ""},
                                    static_cast<v1::RolloutState>(record.state),
                                    record.message,
                                    record.created_at,
                                    record.finished_at};
    is_of_playbook = request.playbook() == view.playbook;
    // A policy that was changed to another playbook or to more nodes has not tried anything yet.
    ASSIGN_OR_RETURN(const bool has_all, covers(record.inventory_revision, request.limit()));
    if (is_of_playbook && has_all) stored.last_revision = record.inventory_revision;
  }

  const Approvals approvals = ApprovalsOf(records.approvals, view.playbook);
  view.accepted = approvals.newest;
  // When it was certain that the bundle is accepted.
  absl::Time known_at = view.accepted.has_value() ? view.accepted->at : absl::InfinitePast();
  for (const Application& each : records.applications) {
    if (each.has_variables || !absl::StartsWith(each.created_by, kAdmin) ||
        approvals.revoked_by.count(each.bundle) == 0)
      continue;
    if (view.accepted.has_value() && each.created_at <= view.accepted->at) continue;
    ASSIGN_OR_RETURN(const bool has_all, covers(each.inventory_revision, each.limit));
    if (!has_all) continue;
    view.accepted = PolicyView::Acceptance{each.bundle, each.created_by, each.created_at, ""};
    known_at = each.finished_at;
  }
  // The policy's last rollout was of what was accepted last then. Rollouts from before it may be
  // too many to be found again.
  if (is_of_playbook && known_at < view.last->created_at &&
      (!view.accepted.has_value() || view.accepted->bundle != view.last->pair.bundle)) {
    view.accepted =
        PolicyView::Acceptance{view.last->pair.bundle, actor, view.last->created_at, ""};
  }
  const std::string accepted = view.accepted.has_value() ? view.accepted->bundle : "";
  for (const Application& each : records.applications) {
    // An operator who applies an older bundle has not said what the nodes should have.
    const bool counts = each.bundle == accepted || absl::StartsWith(each.created_by, kAdmin) ||
                        each.created_by == actor;
    if (each.has_variables || !each.has_succeeded || !counts) continue;
    ASSIGN_OR_RETURN(const bool has_all, covers(each.inventory_revision, each.limit));
    if (!has_all) continue;
    view.applied = PolicyView::Application{each.id, {each.bundle, ""}, each.finished_at};
    stored.applied_revision = each.inventory_revision;
    break;
  }
  if (view.accepted.has_value()) {
    const auto revoked = approvals.revoked_by.find(view.accepted->bundle);
    if (revoked != approvals.revoked_by.end()) view.accepted->revoked_by = revoked->second;
  }
  return stored;
}

}  // namespace muster::controller::rollout
