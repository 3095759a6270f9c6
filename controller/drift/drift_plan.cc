#include "controller/drift/drift_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text/hostlist.h"

namespace muster::controller::drift {
namespace {

absl::Duration GapOf(const PolicyView& view) {
  if (view.nodes.size() <= kBatch) return kLeastGap;
  const absl::Duration even = view.every * kBatch / static_cast<int64_t>(view.nodes.size());
  return std::clamp(even, kLeastGap, kMostGap);
}

bool IsDue(const PolicyView& view, const NodeView& node) {
  switch (StateOf(node)) {
    case v1::DRIFT_STATE_NOT_APPLIED:
      return false;
    case v1::DRIFT_STATE_NOT_CHECKED:
      return true;
    default:
      break;
  }
  const absl::Duration age = view.now - node.checked->finished_at;
  const absl::Duration wait =
      node.checked->failure.empty() ? view.every : std::min(view.every, kRetry);
  return age >= wait || age < absl::ZeroDuration();
}

void ChooseChecks(const PolicyView& view, Decision& decision) {
  if (view.is_checking) return;
  if (view.last_check.has_value()) {
    const absl::Duration age = view.now - *view.last_check;
    if (age >= absl::ZeroDuration() && age < GapOf(view)) return;
  }
  std::vector<const NodeView*> due;
  for (const NodeView& node : view.nodes) {
    if (node.is_free && IsDue(view, node)) due.push_back(&node);
  }
  if (due.empty()) return;
  const auto checked_at = [](const NodeView& node) {
    return StateOf(node) == v1::DRIFT_STATE_NOT_CHECKED ? absl::InfinitePast()
                                                        : node.checked->finished_at;
  };
  std::stable_sort(due.begin(), due.end(), [&](const NodeView* a, const NodeView* b) {
    return checked_at(*a) < checked_at(*b);
  });
  decision.request = due.front()->applied->check;
  for (const NodeView* node : due) {
    if (decision.check.size() == kBatch) break;
    if (node->applied->check == decision.request) decision.check.push_back(node->node);
  }
}

// Why a node that differs is not repaired; "": it may be.
std::string Obstacle(const PolicyView& view, const NodeView& node) {
  if (!node.is_worker) return "only workers are repaired: apply the playbook to";
  // A newer apply may be what the store has forgotten.
  if (view.restored_at.has_value() && node.applied->finished_at <= *view.restored_at)
    return "the controller was restored from a backup since their last known apply: apply the "
           "playbook to";
  if (node.applied->has_variables)
    return "they were applied with -e, which a policy does not have: apply the playbook to";
  const bool was_repaired = node.repair.has_value() && node.repair->is_done &&
                            view.now - node.repair->created_at < kRepairPause;
  if (was_repaired) return "they differ again since their repair: see what changes";
  return "";
}

void ChooseRepairs(const PolicyView& view, Decision& decision) {
  if (!view.repairs) return;
  std::vector<std::pair<std::string, std::vector<std::string>>> obstacles;
  for (const NodeView& node : view.nodes) {
    if (StateOf(node) != v1::DRIFT_STATE_DIFFERS) continue;
    const std::string obstacle = Obstacle(view, node);
    if (!obstacle.empty()) {
      auto found = std::find_if(obstacles.begin(), obstacles.end(),
                                [&](const auto& each) { return each.first == obstacle; });
      if (found == obstacles.end()) found = obstacles.insert(found, {obstacle, {}});
      found->second.push_back(node.node);
      continue;
    }
    // It was left out, as it had jobs: the next check may find it idle.
    if (node.repair.has_value() && node.repair->created_at >= node.checked->created_at) continue;
    if (view.is_repairing || !node.is_free) continue;
    if (decision.repair.empty()) decision.bundle = node.applied->bundle;
    if (node.applied->bundle == decision.bundle) decision.repair.push_back(node.node);
  }
  decision.message = absl::StrJoin(obstacles, "; ", [](std::string* out, const auto& each) {
    absl::StrAppend(out, each.first, " ", FoldHostlist(each.second));
  });
}

}  // namespace

v1::DriftState StateOf(const NodeView& node) {
  if (!node.applied.has_value()) return v1::DRIFT_STATE_NOT_APPLIED;
  if (!node.checked.has_value() || node.checked->created_at < node.applied->finished_at)
    return v1::DRIFT_STATE_NOT_CHECKED;
  if (!node.checked->failure.empty()) return v1::DRIFT_STATE_UNKNOWN;
  return node.checked->changes > 0 ? v1::DRIFT_STATE_DIFFERS : v1::DRIFT_STATE_AS_APPLIED;
}

Decision Decide(const PolicyView& view) {
  Decision decision;
  ChooseChecks(view, decision);
  ChooseRepairs(view, decision);
  return decision;
}

}  // namespace muster::controller::drift
