// RunEngine: what agents say.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/value/step_status.h"
#include "controller/run/active_run.h"
#include "controller/run/plan/plan_finish.h"
#include "controller/run/plan/values_of_facts.h"
#include "controller/run/run_engine.h"
#include "controller/run/run_history.h"
#include "controller/run/run_records.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/plan.pb.h"

namespace muster::controller {
namespace {

// In all plays of a run; a plan has at most 10,000.
constexpr uint32_t kMaxStepsOfNode = 100'000;
// Also in all plays of a run. Beyond it, results are kept without output and changes; beyond twice
// as much, none is kept.
constexpr uint64_t kMaxResultBytesOfNode = uint64_t{32} << 20;

// More than plans can lead to: the others are made up, and must not fill the store.
bool HasSentTooMuch(const RunNode& node) {
  return node.ok + node.changed + node.failed + node.skipped >= kMaxStepsOfNode ||
         node.result_bytes >= 2 * kMaxResultBytesOfNode;
}

v1::StepResult WithoutOutput(v1::StepResult step) {
  step.clear_changes();
  step.set_output(
      absl::StrCat("(output and changes are not kept: the node's results of this run "
                   "take more than ",
                   kMaxResultBytesOfNode >> 20, " MiB)\n"));
  return step;
}

void NoteFirstError(RunNode& node, const v1::StepResult& step) {
  if (step.status() != v1::STEP_STATUS_FAILED || !node.message.empty()) return;
  node.message = NodeMessage(absl::StrCat(step.role(), ": ", step.name(), ": ", step.message()));
}

// The changes that a batch of reports makes to its nodes and runs; none of them counts before the
// transaction is committed.
struct ReportChanges {
  struct Part {  // a node's part in a run
    ActiveRun* run = nullptr;
    std::optional<RunNode> node;  // nullopt: the node has no part in the run
  };
  struct Step {
    RunFeed* log;
    StepResultRecord result;
  };
  std::map<std::string, NodeRecord> records;                  // by uuid
  std::map<std::pair<std::string, std::string>, Part> parts;  // by {run id, uuid}
  std::vector<Step> steps;
  std::set<std::string> touched;  // nodes (uuids) that a step has changed, or may have
};

absl::StatusOr<std::optional<RunNode>> StoredNode(Transaction& txn, const std::string& run_id,
                                                  const NodeRecord& record) {
  const absl::StatusOr<RunNodeRecord> row = txn.runs().GetNode(run_id, record.name);
  if (absl::IsNotFound(row.status())) return std::optional<RunNode>();
  RETURN_IF_ERROR(row.status());
  // The row belongs to an earlier machine of that name.
  if (row->node_uuid != record.uuid) return std::optional<RunNode>();
  return std::optional<RunNode>(ToRunNode(*row));
}

// A check puts no reboot off.
absl::Status StorePending(Transaction& txn, const std::string& run_id, const v1::StepResult& step,
                          absl::Time now, const ReportChanges::Part& part) {
  if (!step.has_reboot_pending()) return absl::OkStatus();
  v1::CreateRunRequest request;
  if (part.run != nullptr) {
    request = part.run->request;
  } else {
    ASSIGN_OR_RETURN(const RunRecord record, txn.runs().Get(run_id));
    request = RequestOf(record);
  }
  if (request.check_only() || request.reboots() != v1::REBOOT_MODE_NEVER) return absl::OkStatus();
  return txn.reboots().PutPending({part.node->uuid, step.reboot_pending().boot_id(),
                                   step.reboot_pending().reason(), run_id, now});
}

absl::Status StoreStep(Transaction& txn, const std::string& run_id, uint32_t play,
                       const v1::StepResult& step, absl::Time now, ReportChanges::Part& part,
                       ReportChanges& changes) {
  RunNode& node = *part.node;
  // A play of an active run that does not name the node: made up, too.
  const bool is_of_a_play = part.run == nullptr || node.plays.count(play) > 0;
  if (!is_of_a_play || HasSentTooMuch(node)) return absl::OkStatus();
  StepResultRecord result;
  result.run_id = run_id;
  result.node = node.name;
  result.play_index = play;
  result.step_id = step.step_id();
  result.status = step.status();
  result.time = now;
  result.result = node.result_bytes < kMaxResultBytesOfNode
                      ? step.SerializeAsString()
                      : WithoutOutput(step).SerializeAsString();
  if (part.run != nullptr) {
    result.sequence = part.run->log->ReserveSequence();
  } else {
    ASSIGN_OR_RETURN(const uint64_t last, txn.step_results().LastSequence(run_id));
    result.sequence = last + 1;
  }
  const bool is_dropped = IsUnchanged(step.status()) && part.run != nullptr &&
                          part.run->request.keep_changes_only() && part.run->request.check_only();
  bool is_new = false;
  if (!is_dropped) {
    node.result_bytes += result.result.size();
    ASSIGN_OR_RETURN(is_new, txn.step_results().PutNew(result));
  }
  std::optional<StepOutcome> earlier;
  if (!is_new) {
    ASSIGN_OR_RETURN(const std::optional<int> before,
                     txn.step_results().Status(run_id, result.node, play, result.step_id));
    if (before.has_value()) {
      earlier = static_cast<StepOutcome>(*before);
      if (!is_dropped) RETURN_IF_ERROR(txn.step_results().Put(result));
    }
  }
  CountStep(node, earlier, static_cast<StepOutcome>(step.status()));
  RETURN_IF_ERROR(StorePending(txn, run_id, step, now, part));
  NoteFirstError(node, step);
  if (part.run != nullptr) changes.steps.push_back({part.run->log.get(), std::move(result)});
  return absl::OkStatus();
}

}  // namespace

// A store that was restored from a backup is behind the agents: a plan that was numbered from it
// alone would be refused as old.
void RunEngine::OvertakeSequence(const std::string& uuid, uint64_t last_sequence) {
  uint64_t known = 0;
  const absl::Status read = with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const NodeRecord record, txn.nodes().Get(uuid));
    known = record.plan_sequence;
    return absl::OkStatus();
  });
  if (!read.ok() || last_sequence <= known) return;
  std::map<ActiveRun*, uint64_t> renumbered;
  const absl::Status stored = with_.store.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord record, txn.nodes().Get(uuid));
    record.plan_sequence = last_sequence;
    for (auto& [run_id, run] : active_) {
      const RunNode* node = run->state.FindByUuid(uuid);
      if (node != nullptr && run->plans.count(node->name) > 0)
        renumbered[run.get()] = ++record.plan_sequence;
    }
    return txn.nodes().SetSequences(uuid, record.plan_sequence, record.report_sequence);
  });
  if (!stored.ok()) return;  // the agent refuses the plan and says why
  for (const auto& [run, sequence] : renumbered) {
    std::shared_ptr<const std::string>& sent = run->plans[run->state.FindByUuid(uuid)->name];
    v1::ControllerMessage message;
    message.ParseFromString(*sent);
    message.mutable_plan()->set_sequence(sequence);
    message.mutable_plan()->set_digest(PlanDigest(message.plan()));
    sent = std::make_shared<const std::string>(message.SerializeAsString());
  }
}

void RunEngine::OnConnected(const std::string& uuid, const v1::Hello& hello) {
  inbox_.OnConnected(uuid);
  facts_.Forget(uuid);  // another boot, perhaps
  if (hello.last_sequence() > 0) OvertakeSequence(uuid, hello.last_sequence());
  std::string run_id;
  uint32_t play = 0;
  const bool has_plan = ParsePlanId(hello.active_plan_id(), run_id, play);
  for (auto& [id, run] : active_) {
    const bool is_its = has_plan && id == run_id && run->state.play() == play;
    Perform(*run, run->state.OnConnected(uuid, hello.boot_id(), is_its));
    reboots_.End(*run);
  }
  RemoveFinished();
  if (has_plan && Find(run_id) == nullptr) {
    // A node that was away when its run was cancelled is still working on it.
    with_.store
        .View([&](Transaction& txn) -> absl::Status {
          ASSIGN_OR_RETURN(const RunRecord record, txn.runs().Get(run_id));
          if (record.state == RunRecord::kCancelled) SendCancel(uuid, hello.active_plan_id());
          return absl::OkStatus();
        })
        .IgnoreError();
  }
  catch_ups_.Consider(uuid);
}

void RunEngine::OnDisconnected(const std::string& uuid) {
  // The end of an old stream may be noticed after the new one has begun.
  if (with_.sessions.IsConnected(uuid)) return;
  facts_.Forget(uuid);
  for (auto& [run_id, run] : active_) {
    Perform(*run, run->state.OnDisconnected(uuid, with_.clock.Now()));
  }
  RemoveFinished();
}

void RunEngine::OnFacts(const std::string& uuid, const std::string& request_id,
                        const absl::Status& refused) {
  std::string run_id;
  uint32_t play = 0;
  if (!ParsePlanId(request_id, run_id, play)) return;
  if (refused.ok()) {
    facts_.OnTold(uuid, request_id);
  } else {
    facts_.Forget(uuid);
  }
  for (auto& [id, run] : active_) {
    const bool has_asked = id == run_id && run->state.play() == play;
    const auto awaited = run->awaited_answers.find(uuid);
    const bool awaits = awaited != run->awaited_answers.end() && awaited->second == request_id;
    if (!has_asked && !awaits) continue;
    Perform(*run, refused.ok() ? run->state.OnFacts(uuid)
                               : run->state.OnFactsRefused(uuid, refused.message()));
  }
  RemoveFinished();
}

void RunEngine::OnPlanReceipt(const std::string& uuid, const v1::PlanReceipt& receipt) {
  std::string run_id;
  uint32_t play = 0;
  if (!ParsePlanId(receipt.plan_id(), run_id, play)) return;
  if (ActiveRun* run = Find(run_id); run != nullptr) {
    Perform(*run, run->state.OnReceipt(uuid, play, receipt.accepted(), receipt.reason()));
    RemoveFinished();
  }
}

void RunEngine::OnProgress(const std::string& uuid, const v1::StepProgress& progress) {
  std::string run_id;
  uint32_t play = 0;
  if (!ParsePlanId(progress.plan_id(), run_id, play)) return;
  ActiveRun* run = Find(run_id);
  if (run == nullptr) return;
  const RunNode* node = run->state.FindByUuid(uuid);
  if (node == nullptr) return;
  v1::RunEvent event;
  *event.mutable_time() = ToTimestamp(with_.clock.Now());
  event.set_node(node->name);
  *event.mutable_progress() = progress;
  run->log->Pass(std::move(event));
}

void RunEngine::OnRebootRequest(const std::string& uuid, const v1::RebootRequest& request) {
  reboots_.Answer(uuid, request, [this](absl::string_view run_id) { return Find(run_id); });
}

void RunEngine::OnReports(std::vector<NodeReport> reports) {
  inbox_.Take(std::move(reports));
  RemoveFinished();
}

absl::Status RunEngine::HandleReports(absl::Span<const NodeReport> reports) {
  ReportChanges changes;
  const auto handle = [&](Transaction& txn, const NodeReport& each) -> absl::Status {
    const v1::Report& report = *each.report;
    auto record = changes.records.find(each.uuid);
    if (record == changes.records.end()) {
      absl::StatusOr<NodeRecord> stored = txn.nodes().Get(each.uuid);
      // A machine that is not enrolled any more has nothing to report.
      if (absl::IsNotFound(stored.status())) return absl::OkStatus();
      RETURN_IF_ERROR(stored.status());
      record = changes.records.emplace(each.uuid, *std::move(stored)).first;
    }
    if (report.report_sequence() <= record->second.report_sequence) return absl::OkStatus();
    record->second.report_sequence = report.report_sequence();
    if (report.has_step() && !IsUnchanged(report.step().status()))
      changes.touched.insert(each.uuid);
    std::string run_id;
    uint32_t play = 0;
    if (!ParsePlanId(report.plan_id(), run_id, play)) return absl::OkStatus();
    const auto [found, is_new] = changes.parts.try_emplace({run_id, each.uuid});
    ReportChanges::Part& part = found->second;
    if (is_new) {
      part.run = Find(run_id);
      const RunNode* node = part.run == nullptr ? nullptr : part.run->state.FindByUuid(each.uuid);
      if (node != nullptr) {
        part.node = *node;
      } else if (part.run == nullptr) {
        ASSIGN_OR_RETURN(part.node, StoredNode(txn, run_id, record->second));
      }
    }
    if (report.has_outcome()) {
      const v1::PlanOutcome& outcome = report.outcome();
      RETURN_IF_ERROR(txn.open_plans().RemoveUpTo(each.uuid, report.plan_id()));
      if (part.node.has_value()) {
        ApplyOutcome(*part.node, play, outcome.succeeded(), outcome.cancelled(), outcome.message());
      }
    } else if (report.has_step() && part.node.has_value()) {
      return StoreStep(txn, run_id, play, report.step(), with_.clock.Now(), part, changes);
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
    for (const NodeReport& each : reports) RETURN_IF_ERROR(handle(txn, each));
    for (const auto& [uuid, record] : changes.records) {
      RETURN_IF_ERROR(txn.nodes().SetSequences(uuid, record.plan_sequence, record.report_sequence));
    }
    for (const auto& [key, part] : changes.parts) {
      if (part.node.has_value())
        RETURN_IF_ERROR(txn.runs().PutNode(ToRecord(key.first, *part.node)));
    }
    return absl::OkStatus();
  }));
  for (const std::string& uuid : changes.touched) facts_.Forget(uuid);
  v1::ControllerMessage stored;
  for (const auto& [uuid, record] : changes.records) {
    stored.mutable_reports_stored()->set_up_to_sequence(record.report_sequence);
    with_.sessions.Send(uuid, stored).IgnoreError();
  }
  for (const ReportChanges::Step& step : changes.steps) AppendStep(step.result, *step.log);
  std::map<ActiveRun*, std::vector<RunNode>> by_run;
  for (auto& [key, part] : changes.parts) {
    if (part.run != nullptr && part.node.has_value())
      by_run[part.run].push_back(*std::move(part.node));
  }
  for (auto& [run, nodes] : by_run) {
    Perform(*run, run->state.Replace(nodes));
    reboots_.End(*run);
  }
  return absl::OkStatus();
}

void RunEngine::Tick() {
  inbox_.Retry();
  feeds_->Forget(with_.clock.Now());
  for (auto& [run_id, run] : active_) {
    Perform(*run, run->state.Tick(with_.clock.Now()));
    reboots_.End(*run);
  }
  RemoveFinished();
  catch_ups_.StartDue();
  if (active_.empty()) kept_facts_->Forget();
}

}  // namespace muster::controller
