#include "controller/rollout/applications.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "common/base/status.h"
#include "controller/inventory/inventory.h"
#include "controller/rollout/rollout_records.h"
#include "controller/run/collaborators.h"
#include "controller/run/run_records.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/run.pb.h"

namespace muster::controller::rollout {
namespace {

// How far back is looked.
constexpr uint32_t kEarlierRollouts = 1000;
constexpr uint32_t kEarlierRuns = 1000;  // that apply the playbook

bool GivesStacks(const v1::CreateRolloutRequest& request) { return !request.node_stacks().empty(); }
bool GivesStacks(const v1::CreateRunRequest&) { return false; }

// The application that a run or a rollout was: their records name the same things.
template <typename Record, typename Request>
Application From(const Record& record, const Request& request, const std::string& id) {
  Application made;
  made.id = id;
  made.bundle = request.bundle_sha256();
  made.limit = request.limit();
  made.has_variables = !request.extra_vars().empty() || GivesStacks(request);
  made.inventory_revision = record.inventory_revision;
  made.created_by = record.created_by;
  made.created_at = record.created_at;
  made.finished_at = *record.finished_at;
  return made;
}

absl::StatusOr<bool> HasUpdated(Transaction& txn, const std::string& rollout_id) {
  ASSIGN_OR_RETURN(const std::vector<RolloutNodeRecord> nodes,
                   txn.rollouts().ListNodes(rollout_id));
  return std::any_of(nodes.begin(), nodes.end(), [](const RolloutNodeRecord& node) {
    return node.step == v1::ROLLOUT_STEP_DONE;
  });
}

}  // namespace

absl::StatusOr<std::vector<Application>> ReadApplications(Transaction& txn,
                                                          absl::string_view playbook) {
  std::vector<Application> all;
  ASSIGN_OR_RETURN(const auto rollouts, txn.rollouts().List(kEarlierRollouts));
  for (const RolloutRecord& record : rollouts) {
    if (record.state != v1::ROLLOUT_STATE_COMPLETED || !record.finished_at.has_value()) continue;
    const v1::CreateRolloutRequest request = RequestOf(record);
    if (request.playbook() != playbook || !request.tags().empty()) continue;
    if (!record.message.empty()) {
      ASSIGN_OR_RETURN(const bool has_updated, HasUpdated(txn, record.rollout_id));
      if (!has_updated) continue;
    }
    all.push_back(From(record, request, record.rollout_id));
    all.back().has_succeeded = record.message.empty();
  }
  ASSIGN_OR_RETURN(const auto runs, txn.runs().ListApplied(playbook, kEarlierRuns));
  for (const RunRecord& record : runs) {
    if (record.state != RunRecord::kSucceeded || !record.finished_at.has_value()) continue;
    const v1::CreateRunRequest request = controller::RequestOf(record);
    if (request.playbook() != playbook || !IsAppliedWhole(request)) continue;
    if (!request.bundle_sha256().empty()) all.push_back(From(record, request, record.run_id));
  }
  std::stable_sort(all.begin(), all.end(), [](const Application& a, const Application& b) {
    return a.finished_at > b.finished_at;
  });
  return all;
}

absl::StatusOr<bool> Covers(InventorySource& inventories, uint64_t revision,
                            const std::string& limit, const std::vector<std::string>& nodes) {
  if (limit.empty()) return true;
  const absl::StatusOr<std::shared_ptr<const Inventory>> inventory = inventories.Get(revision);
  // One that cannot be read any more says nothing.
  if (absl::IsInvalidArgument(inventory.status()) || absl::IsNotFound(inventory.status()) ||
      absl::IsDataLoss(inventory.status()))
    return false;
  RETURN_IF_ERROR(inventory.status());
  const absl::StatusOr<std::vector<const Node*>> selected = Select(**inventory, limit);
  if (!selected.ok()) return false;
  std::set<absl::string_view> names;
  for (const Node* node : *selected) names.insert(node->name);
  bool has_any = false;
  for (const std::string& node : nodes) {
    if ((*inventory)->FindNode(node) == nullptr) continue;
    if (names.count(node) == 0) return false;
    has_any = true;
  }
  return has_any;
}

}  // namespace muster::controller::rollout
