#include "controller/drift/drift_view.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/inventory/drift_policy.h"
#include "controller/inventory/inventory.h"
#include "controller/rollout/rollout_records.h"
#include "controller/run/plan/plan_finish.h"
#include "controller/run/run_records.h"
#include "controller/run/run_state.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/rollout.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::controller::drift {
namespace {

constexpr uint32_t kEarlierRuns = 1000;
constexpr uint32_t kEarlierRollouts = 1000;

using Nodes = std::map<std::string, NodeView*>;

v1::CreateRunRequest CheckOf(v1::CreateRunRequest request) {
  request.clear_limit();
  request.clear_plan_sha256();
  request.clear_left_out();
  request.clear_reboot_with_jobs();
  request.set_check_only(true);
  request.set_want_diff(true);
  request.set_skip_validation(true);
  request.set_leave_out_busy(true);
  request.set_keep_changes_only(true);
  return request;
}

std::string FailureOf(const RunNodeRecord& node) {
  if (node.state == NodePhaseName(NodePhase::kDone)) return "";
  if (node.state == NodePhaseName(NodePhase::kUnreachable)) return "it did not answer";
  return node.message.empty() ? absl::StrCat("the check was ", node.state) : node.message;
}

absl::Status ReadCheck(Transaction& txn, const RunRecord& run, Nodes& open, PolicyView& view) {
  if (!view.last_check.has_value()) view.last_check = run.created_at;
  if (!run.finished_at.has_value()) {
    view.is_checking = true;
    return absl::OkStatus();
  }
  if (open.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto nodes, txn.runs().ListNodes(run.run_id));
  for (const RunNodeRecord& node : nodes) {
    const auto found = open.find(node.node);
    if (found == open.end()) continue;
    found->second->checked = {run.run_id, run.created_at, *run.finished_at, node.changed,
                              FailureOf(node)};
    open.erase(found);
  }
  return absl::OkStatus();
}

absl::Status ReadApplication(Transaction& txn, const RunRecord& run,
                             const v1::CreateRunRequest& request, Nodes& open) {
  ASSIGN_OR_RETURN(const auto nodes, txn.runs().ListNodes(run.run_id));
  const std::string check = SerializeDeterministically(CheckOf(request));
  for (const RunNodeRecord& node : nodes) {
    const auto found = open.find(node.node);
    if (found == open.end() || node.state != NodePhaseName(NodePhase::kDone)) continue;
    found->second->applied = {run.run_id, *run.finished_at, check, request.bundle_sha256(),
                              !request.extra_vars().empty()};
    open.erase(found);
  }
  return absl::OkStatus();
}

absl::Status ReadRepairs(Transaction& txn, const std::string& actor, Nodes open, PolicyView& view) {
  ASSIGN_OR_RETURN(const auto rollouts, txn.rollouts().List(kEarlierRollouts));
  for (const RolloutRecord& rollout : rollouts) {
    if (rollout.created_by != actor) continue;
    view.is_repairing |= !rollout.finished_at.has_value();
    ASSIGN_OR_RETURN(const auto nodes, txn.rollouts().ListNodes(rollout.rollout_id));
    for (const RolloutNodeRecord& node : nodes) {
      const auto found = open.find(node.node);
      if (found == open.end()) continue;
      found->second->repair = {rollout.rollout_id, rollout.created_at,
                               node.step == v1::ROLLOUT_STEP_DONE};
      open.erase(found);
    }
    if (open.empty()) break;
  }
  return absl::OkStatus();
}

}  // namespace

std::string ActorOf(const DriftPolicy& policy) {
  return PolicyActor(absl::StrCat(kDriftActor, policy.name)).name;
}

absl::StatusOr<PolicyView> ReadPolicy(Transaction& txn, const Inventory& inventory,
                                      const DriftPolicy& policy) {
  PolicyView view;
  view.every = policy.every;
  view.repairs = policy.repairs;
  view.nodes.resize(policy.nodes.size());
  Nodes all;
  for (size_t i = 0; i < policy.nodes.size(); ++i) {
    NodeView& node = view.nodes[i];
    node.node = policy.nodes[i];
    node.is_worker = inventory.FindNode(node.node)->role == NodeRole::kCompute;
    all[node.node] = &node;
  }
  const std::string actor = ActorOf(policy);
  Nodes to_check = all, to_apply = all;
  ASSIGN_OR_RETURN(const auto runs, txn.runs().List(kEarlierRuns));
  for (const RunRecord& run : runs) {
    const v1::CreateRunRequest request = RequestOf(run);
    if (request.playbook() != policy.playbook) continue;
    if (request.check_only() && run.created_by == actor) {
      RETURN_IF_ERROR(ReadCheck(txn, run, to_check, view));
    } else if (IsAppliedWhole(request) && !request.bundle_sha256().empty() &&
               run.finished_at.has_value() && !to_apply.empty()) {
      RETURN_IF_ERROR(ReadApplication(txn, run, request, to_apply));
    }
  }
  RETURN_IF_ERROR(ReadRepairs(txn, actor, std::move(all), view));
  return view;
}

}  // namespace muster::controller::drift
