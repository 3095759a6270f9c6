#include "controller/run/catch_ups.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/audit/audit.h"
#include "controller/inventory/inventory.h"
#include "controller/run/run_records.h"
#include "controller/run/run_state.h"
#include "controller/store/tables.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

// Errors after which the store may accept the same later: it is full, or locked by another process.
bool MayPass(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status);
}

// The newest run that applied its playbook whole and came to its end on the node. NotFound: there
// is none.
absl::StatusOr<RunRecord> NewestWholeRun(Transaction& txn, const NodeRecord& node) {
  const auto is_it = [&](const RunRecord& run) {
    if (run.state == RunRecord::kRunning || !IsAppliedWhole(RequestOf(run))) return false;
    const absl::StatusOr<RunNodeRecord> part = txn.runs().GetNode(run.run_id, node.name);
    return part.ok() && part->state == NodePhaseName(NodePhase::kDone);
  };
  // Mostly it is the last one.
  absl::StatusOr<RunRecord> last = txn.runs().Get(node.last_run_id);
  if (last.ok() && is_it(*last)) return last;
  std::optional<RunRecord> found;
  RETURN_IF_ERROR(txn.runs().ForEachFromNewest([&](const RunRecord& run) -> absl::StatusOr<bool> {
    if (is_it(run)) found = run;
    return !found.has_value();
  }));
  if (!found.has_value()) return absl::NotFoundError("no run has applied a whole playbook");
  return *std::move(found);
}

// Takes out the nodes that the inventory no longer has: a single one has the whole run refused.
std::vector<std::string> TakeDropped(InventorySource& source, std::vector<std::string>& nodes) {
  const absl::StatusOr<InventoryVersion> latest = source.Latest();
  if (!latest.ok()) return {};  // the run is refused for the same reason
  const auto dropped = std::stable_partition(
      nodes.begin(), nodes.end(),
      [&](const std::string& node) { return latest->inventory->FindNode(node) != nullptr; });
  std::vector<std::string> taken(dropped, nodes.end());
  nodes.erase(dropped, nodes.end());
  return taken;
}

}  // namespace

CatchUps::CatchUps(const RunCollaborators& with, BusyOf busy_of, Create create)
    : with_(with), busy_of_(std::move(busy_of)), create_(std::move(create)) {}

void CatchUps::Consider(const std::string& uuid) {
  NodeRecord node;
  RunRecord missed;
  const absl::Status status = with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(node, txn.nodes().Get(uuid));
    if (node.last_run_result == kRunLost) {
      ASSIGN_OR_RETURN(missed, NewestWholeRun(txn, node));
      return absl::OkStatus();
    }
    if (node.last_run_result != kRunMissed) return absl::NotFoundError("nothing missed");
    ASSIGN_OR_RETURN(missed, txn.runs().Get(node.last_run_id));
    return absl::OkStatus();
  });
  if (!status.ok()) return;
  if (missed.state == RunRecord::kRunning || missed.state == RunRecord::kCancelled) return;
  if (RequestOf(missed).check_only()) return;
  batches_.Add(missed.run_id, node.name, with_.clock.Now());
}

void CatchUps::StartDue() {
  const auto wait_for_store = [&](const CatchUpBatch& batch) {
    for (const std::string& node : batch.nodes) batches_.Add(batch.run_id, node, with_.clock.Now());
  };
  // Moves the nodes that other work holds back to those that wait.
  const auto put_back_busy = [&](const std::string& run_id, std::vector<std::string>& nodes) {
    for (const std::string& node : busy_of_(nodes)) {
      batches_.Add(run_id, node, with_.clock.Now(), kCatchUpBusyDelay);
      nodes.erase(std::find(nodes.begin(), nodes.end(), node));
    }
  };
  for (CatchUpBatch& batch : batches_.TakeDue(with_.clock.Now())) {
    RunRecord missed;
    std::vector<std::string> still;
    bool is_lost = false;
    const absl::Status read = with_.store.View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(missed, txn.runs().Get(batch.run_id));
      for (const std::string& name : batch.nodes) {
        const absl::StatusOr<NodeRecord> node = txn.nodes().GetByName(name);
        if (!node.ok()) continue;
        const bool has_lost = node->last_run_result == kRunLost;
        // The rollout of the run may have been given up meanwhile.
        const bool has_missed =
            node->last_run_id == batch.run_id && node->last_run_result == kRunMissed;
        // One that has gone again is considered when it is back.
        if (!with_.sessions.IsConnected(node->uuid) || !(has_lost || has_missed)) continue;
        is_lost |= has_lost;
        still.push_back(name);
      }
      return absl::OkStatus();
    });
    if (MayPass(read)) wait_for_store(batch);
    if (!read.ok() || still.empty()) continue;
    if (with_.may_catch_up) {
      const absl::Status may = with_.may_catch_up(missed.mandate);
      if (MayPass(may)) wait_for_store(batch);
      if (absl::IsPermissionDenied(may)) Refuse({batch.run_id, still}, may);
      if (!may.ok()) continue;
    }
    if (const std::vector<std::string> dropped = TakeDropped(with_.inventory, still);
        !dropped.empty()) {
      Refuse({batch.run_id, dropped},
             absl::NotFoundError("the inventory no longer has the node; add it again and run "
                                 "`muster inventory apply`, or end its membership with `muster "
                                 "node remove`"));
    }
    put_back_busy(batch.run_id, still);
    if (still.empty()) continue;
    v1::CreateRunRequest request = RequestOf(missed);
    request.set_limit(FoldHostlist(still));
    // The administrator's answer about jobs was about those of that time, not about today's.
    request.set_reboot_with_jobs(false);
    request.set_leave_out_busy(false);
    // A plan was made for what was there.
    if (is_lost) request.clear_plan_sha256();
    const absl::Status created = create_(request, missed.mandate, batch.run_id);
    if (MayPass(created)) wait_for_store(batch);
    if (created.ok() || MayPass(created)) continue;
    // Other work may have taken some of them just now: the others wait for the next batch.
    const size_t were_free = still.size();
    put_back_busy(batch.run_id, still);
    if (still.size() == were_free) {
      Refuse({batch.run_id, still}, created);
    } else {
      for (const std::string& node : still) batches_.Add(batch.run_id, node, with_.clock.Now());
    }
  }
}

void CatchUps::Refuse(const CatchUpBatch& batch, const absl::Status& why) {
  const std::string words =
      NodeMessage(absl::StrCat("connected again, but not caught up with this run: ",
                               absl::string_view(why.message().data(), why.message().size())));
  // If the store cannot save it now, it is recorded the next time the node is back.
  with_.store
      .Update([&](Transaction& txn) -> absl::Status {
        std::vector<std::string> told;
        for (const std::string& node : batch.nodes) {
          ASSIGN_OR_RETURN(RunNodeRecord row, txn.runs().GetNode(batch.run_id, node));
          // A node may come and go for as long as it likes, and the audit log never shrinks.
          if (row.message == words) continue;
          row.message = words;
          RETURN_IF_ERROR(txn.runs().PutNode(row));
          told.push_back(node);
        }
        if (told.empty()) return absl::OkStatus();
        return Audit(txn, with_.clock.Now(), ControllerActor(), "run.catch_up_refused",
                     batch.run_id, absl::StrCat(FoldHostlist(std::move(told)), ": ", words));
      })
      .IgnoreError();
}

}  // namespace muster::controller
