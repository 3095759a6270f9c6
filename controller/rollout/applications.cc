#include "controller/rollout/applications.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "controller/rollout/rollout_records.h"
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

}  // namespace

absl::StatusOr<std::vector<Application>> ReadApplications(Transaction& txn,
                                                          absl::string_view playbook) {
  std::vector<Application> all;
  ASSIGN_OR_RETURN(const auto rollouts, txn.rollouts().List(kEarlierRollouts));
  for (const RolloutRecord& record : rollouts) {
    if (record.state != v1::ROLLOUT_STATE_COMPLETED || !record.finished_at.has_value()) continue;
    const v1::CreateRolloutRequest request = RequestOf(record);
    if (request.playbook() != playbook || !request.tags().empty()) continue;
    all.push_back(From(record, request, record.rollout_id));
    all.back().is_rollout = true;
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

}  // namespace muster::controller::rollout
