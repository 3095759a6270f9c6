#include "controller/run/plan/play_compilation.h"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/run/plan/plan_finish.h"
#include "controller/run/plan/reboot_mode.h"
#include "controller/run/plan/values_of_facts.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {
namespace {

// A recap shows the beginning of an error; more would drown the other nodes.
constexpr size_t kMaxErrorLines = 12;

absl::Status FirstLines(const absl::Status& error) {
  const std::vector<std::string> lines =
      absl::StrSplit(std::string(error.message()), absl::MaxSplits('\n', kMaxErrorLines));
  const size_t count = std::min(lines.size(), kMaxErrorLines);
  return absl::Status(error.code(), absl::StrJoin(lines.begin(), lines.begin() + count, "\n"));
}

class Compilation {
 public:
  Compilation(const RunCollaborators& with, const PlayWork& work) : with_(with), work_(work) {
    for (const auto& [name, uuid] : work.nodes) uuids_[name] = uuid;
  }

  PlanBatch Finish(std::vector<NodePlan> compiled) {
    PlanBatch batch{work_.run_id, work_.play, absl::OkStatus(), {}};
    batch.status = Number(compiled);
    for (size_t i = 0; i < compiled.size() && batch.status.ok(); ++i) {
      NodePlan& each = compiled[i];
      FinishedPlan& finished = batch.plans.emplace_back();
      finished.node = each.node;
      finished.error = FinishOne(each, finished);
      if (!finished.error.ok()) finished.error = FirstLines(finished.error);
    }
    // Done before any plan is sent: whoever has a plan may fetch what it names.
    if (batch.status.ok()) batch.status = Keep();
    return batch;
  }

 private:
  absl::Status Number(const std::vector<NodePlan>& compiled) {
    records_.clear();
    boots_.clear();
    return with_.store.View([&](Transaction& txn) -> absl::Status {
      for (const NodePlan& each : compiled) {
        const auto uuid = uuids_.find(each.node);
        if (each.plan == nullptr || uuid == uuids_.end()) continue;
        absl::StatusOr<NodeRecord> record = txn.nodes().Get(uuid->second);
        if (absl::IsNotFound(record.status())) continue;
        RETURN_IF_ERROR(record.status());
        OpenPlanRecord& plan = records_[each.node];
        plan.node_uuid = record->uuid;
        plan.plan_id = PlanId(work_.run_id, work_.play);
        plan.sequence = record->plan_sequence + 1;
        if (work_.last_here.count(each.node) > 0) boots_[each.node] = record->boot_id;
      }
      if (boots_.empty()) return absl::OkStatus();
      // The boot in which the node was when it rebooted for an earlier play.
      ASSIGN_OR_RETURN(const std::vector<RebootRecord> reboots, txn.reboots().List(work_.run_id));
      for (const RebootRecord& reboot : reboots) {
        const auto boot = boots_.find(reboot.node);
        if (boot != boots_.end()) boot->second = reboot.boot_id;
      }
      return absl::OkStatus();
    });
  }

  absl::Status FinishOne(NodePlan& compiled, FinishedPlan& finished) {
    RETURN_IF_ERROR(compiled.error);
    const auto record = records_.find(compiled.node);
    if (compiled.plan == nullptr || record == records_.end())
      return absl::InternalError("the compiler gave neither a plan nor an error");
    v1::Plan& plan = *compiled.plan;
    plan.set_play_name(work_.play_name);
    plan.set_check_only(work_.check_only);
    plan.set_want_diff(work_.want_diff);
    plan.set_after_changes(work_.check_only && work_.changed.count(compiled.node) > 0);
    LeaveOutSkipped(plan);
    if (work_.puts_reboots_off) PutRebootsOff(plan);
    if (const auto boot = boots_.find(compiled.node); boot != boots_.end())
      RETURN_IF_ERROR(AddLastReboot(boot->second, plan));
    absl::Status status;
    if (work_.check_only || work_.held != nullptr) finished.steps_digest = StepsDigest(plan);
    if (work_.held != nullptr && !work_.check_only) {
      status = work_.held->Hold(work_.play, compiled.node, finished.steps_digest, plan);
    }
    if (status.ok()) {
      status = FinishPlan({work_.run_id, work_.play, record->second.node_uuid, compiled.node,
                           record->second.sequence, with_.clock.Now() + kPlanLifetime},
                          plan, compiled.blobs);
    }
    if (!status.ok() || plan.roles().empty()) {
      records_.erase(record);
      return status;
    }
    std::vector<std::string> named;
    for (const auto& [sha256, content] : compiled.blobs) {
      named.push_back(sha256);
      if (kept_.count(sha256) > 0) continue;
      RETURN_IF_ERROR(with_.put_blob(sha256, *content));
      kept_.insert(sha256);
    }
    record->second.blobs = absl::StrJoin(named, " ");
    v1::ControllerMessage message;
    message.set_allocated_plan(compiled.plan.release());
    finished.message = std::make_shared<const std::string>(message.SerializeAsString());
    return absl::OkStatus();
  }

  absl::Status Keep() {
    return with_.store.Update([&](Transaction& txn) -> absl::Status {
      for (const auto& [name, plan] : records_) {
        ASSIGN_OR_RETURN(const NodeRecord record, txn.nodes().Get(plan.node_uuid));
        RETURN_IF_ERROR(txn.nodes().SetSequences(
            record.uuid, std::max(record.plan_sequence, plan.sequence), record.report_sequence));
        // Plans without blobs need no row.
        if (!plan.blobs.empty()) RETURN_IF_ERROR(txn.open_plans().Put(plan));
      }
      return absl::OkStatus();
    });
  }

  const RunCollaborators& with_;
  const PlayWork& work_;
  absl::flat_hash_map<std::string, std::string> uuids_;
  std::map<std::string, OpenPlanRecord> records_;  // of the batch, by node name
  std::map<std::string, std::string> boots_;       // that AddLastReboot() ends, by node name
  std::set<std::string> kept_;                     // blobs that are in the blob store
};

}  // namespace

void CompilePlans(const RunCollaborators& with, KeptFacts& kept, const PlayWork& work,
                  absl::FunctionRef<bool(PlanBatch)> take) {
  absl::StatusOr<std::unique_ptr<KeptFacts::Values>> facts = kept.Take(with.store);
  if (!facts.ok()) {
    take({work.run_id, work.play, facts.status(), {}});
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, uuid] : work.nodes) names.push_back(name);
  Compilation compilation(with, work);
  with.compiler.Compile(*work.playbook, work.play, *work.inventory, (*facts)->facts, names,
                        work.options, with.secrets, kPlanBatch,
                        [&](std::vector<NodePlan> compiled) {
                          PlanBatch batch = compilation.Finish(std::move(compiled));
                          const bool is_stored = batch.status.ok();
                          return take(std::move(batch)) && is_stored;
                        });
  kept.GiveBack(*std::move(facts));
}

}  // namespace muster::controller
