#include "controller/drift/drift_view.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
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

Nodes ByName(std::vector<NodeView>& nodes) {
  Nodes all;
  for (NodeView& node : nodes) all[node.node] = &node;
  return all;
}

bool IsOf(const RunHistory& history, const DriftPolicy& policy) {
  return history.playbook == policy.playbook &&
         std::equal(
             history.nodes.begin(), history.nodes.end(), policy.nodes.begin(), policy.nodes.end(),
             [](const NodeView& node, const std::string& name) { return node.node == name; });
}

RunHistory BeginHistory(const DriftPolicy& policy) {
  RunHistory history;
  history.playbook = policy.playbook;
  for (const std::string& name : policy.nodes) history.nodes.emplace_back().node = name;
  return history;
}

// A check names its nodes one by one. Where some node was never checked, all checks are gone
// through, and those that cannot have it need not be read.
bool MayHave(const v1::CreateRunRequest& check, const Nodes& open) {
  const auto names = ExpandHostlist(check.limit());
  return !names.ok() || std::any_of(names->begin(), names->end(),
                                    [&](const std::string& name) { return open.count(name) > 0; });
}

absl::Status ReadCheck(Transaction& txn, const RunRecord& run, const v1::CreateRunRequest& request,
                       Nodes& open) {
  if (open.empty() || !MayHave(request, open)) return absl::OkStatus();
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
  if (open.empty()) return absl::OkStatus();
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

// Adds what is newer to the history, whose end stays before runs that have not ended yet.
absl::Status ReadRuns(Transaction& txn, const DriftPolicy& policy, RunHistory& history,
                      bool& is_checking) {
  const std::string actor = ActorOf(policy);
  Nodes to_check = ByName(history.nodes), to_apply = to_check;
  std::optional<absl::Time> last_check;
  std::string read_to;
  RETURN_IF_ERROR(txn.runs().ForEachFromNewest([&](const RunRecord& run) -> absl::StatusOr<bool> {
    if (run.run_id == history.read_to) return false;
    const v1::CreateRunRequest request = RequestOf(run);
    const bool is_playbook = request.playbook() == policy.playbook;
    const bool is_check = is_playbook && request.check_only() && run.created_by == actor;
    const bool is_application =
        is_playbook && IsAppliedWhole(request) && !request.bundle_sha256().empty();
    if (is_check && !last_check.has_value()) last_check = run.created_at;
    if ((is_check || is_application) && !run.finished_at.has_value()) {
      is_checking |= is_check;
      read_to.clear();
      return true;
    }
    if (is_check) RETURN_IF_ERROR(ReadCheck(txn, run, request, to_check));
    if (is_application) RETURN_IF_ERROR(ReadApplication(txn, run, request, to_apply));
    if (read_to.empty()) read_to = run.run_id;
    return !to_check.empty() || !to_apply.empty();
  }));
  if (last_check.has_value()) history.last_check = last_check;
  if (!read_to.empty()) history.read_to = read_to;
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
                                      const DriftPolicy& policy, RunHistory& history) {
  if (!IsOf(history, policy)) history = BeginHistory(policy);
  PolicyView view;
  view.every = policy.every;
  view.repairs = policy.repairs;
  ASSIGN_OR_RETURN(view.restored_at, txn.restores().RestoredAt());
  RETURN_IF_ERROR(ReadRuns(txn, policy, history, view.is_checking));
  view.last_check = history.last_check;
  view.nodes = history.nodes;
  for (NodeView& node : view.nodes)
    node.is_worker = inventory.FindNode(node.node)->role == NodeRole::kCompute;
  RETURN_IF_ERROR(ReadRepairs(txn, ActorOf(policy), ByName(view.nodes), view));
  return view;
}

}  // namespace muster::controller::drift
