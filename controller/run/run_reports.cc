// RunEngine: what agents say.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/hostlist.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/run/active_run.h"
#include "controller/run/plan_finish.h"
#include "controller/run/run_engine.h"
#include "controller/run/run_history.h"
#include "controller/run/run_records.h"

namespace muster::controller {
namespace {

std::optional<StepOutcome> EarlierOutcome(const std::vector<StepResultRecord>& results,
                                          uint32_t play, const std::string& step_id) {
  for (const StepResultRecord& result : results) {
    if (result.play_index == play && result.step_id == step_id) {
      return static_cast<StepOutcome>(result.status);
    }
  }
  return std::nullopt;
}

void NoteFirstError(RunNode& node, const v1::StepResult& step) {
  if (step.status() != v1::STEP_STATUS_FAILED || !node.message.empty()) return;
  node.message = absl::StrCat(step.role(), ": ", step.name(), ": ", step.message());
}

absl::StatusOr<std::optional<RunNode>> StoredNode(Transaction& txn, const std::string& run_id,
                                                  const std::string& uuid) {
  ASSIGN_OR_RETURN(const std::vector<RunNodeRecord> rows, txn.runs().ListNodes(run_id));
  for (const RunNodeRecord& row : rows) {
    if (row.node_uuid == uuid) return std::optional<RunNode>(ToRunNode(row));
  }
  return std::optional<RunNode>();
}

}  // namespace

void RunEngine::OnConnected(const std::string& uuid, const v1::Hello& hello) {
  must_repeat_.erase(uuid);
  for (auto& [run_id, run] : active_) Perform(*run, run->state.OnConnected(uuid));
  RemoveFinished();
  std::string run_id;
  uint32_t play = 0;
  if (ParsePlanId(hello.active_plan_id(), run_id, play) && Find(run_id) == nullptr) {
    // A node that was away when its run was cancelled still works on it.
    with_.store
        .View([&](Transaction& txn) -> absl::Status {
          ASSIGN_OR_RETURN(const RunRecord record, txn.runs().Get(run_id));
          if (record.state == RunRecord::kCancelled) SendCancel(uuid, hello.active_plan_id());
          return absl::OkStatus();
        })
        .IgnoreError();
  }
  ConsiderCatchUp(uuid);
}

void RunEngine::OnDisconnected(const std::string& uuid) {
  // The end of an old stream may be noticed after the new one has begun.
  if (with_.sessions.IsConnected(uuid)) return;
  for (auto& [run_id, run] : active_) {
    Perform(*run, run->state.OnDisconnected(uuid, with_.clock.Now()));
  }
  RemoveFinished();
}

void RunEngine::OnFacts(const std::string& uuid, const v1::FactsReport& report) {
  std::string run_id;
  uint32_t play = 0;
  if (!ParsePlanId(report.request_id(), run_id, play)) return;
  ActiveRun* run = Find(run_id);
  if (run == nullptr || run->state.play() != play) return;
  Perform(*run, run->state.OnFacts(uuid));
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
  run->log->Progress(std::move(event));
}

void RunEngine::OnReport(const std::string& uuid, const v1::Report& report) {
  if (must_repeat_.count(uuid) > 0) return;
  if (!backlog_.empty() || !HandleReport(uuid, report).ok()) {
    if (backlog_.size() < kMaxBacklog) {
      backlog_.emplace_back(uuid, std::make_unique<v1::Report>(report));
    } else {
      must_repeat_.insert(uuid);
      with_.sessions.Disconnect(uuid, "the controller's store takes no reports now");
    }
  }
  RemoveFinished();
}

void RunEngine::HandleBacklog() {
  while (!backlog_.empty()) {
    if (!HandleReport(backlog_.front().first, *backlog_.front().second).ok()) return;
    backlog_.pop_front();
  }
}

absl::Status RunEngine::HandleReport(const std::string& uuid, const v1::Report& report) {
  std::string run_id;
  uint32_t play = 0;
  const bool known_plan = ParsePlanId(report.plan_id(), run_id, play);
  ActiveRun* run = known_plan ? Find(run_id) : nullptr;
  std::optional<RunNode> node;
  if (run != nullptr && run->state.FindByUuid(uuid) != nullptr) {
    node = *run->state.FindByUuid(uuid);
  }
  uint64_t stored_up_to = 0;
  StepResultRecord result;
  bool fresh = false;
  const absl::Status status = with_.store.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord record, txn.nodes().Get(uuid));
    stored_up_to = record.report_sequence;
    if (report.report_sequence() <= record.report_sequence) return absl::OkStatus();
    fresh = true;
    stored_up_to = record.report_sequence = report.report_sequence();
    RETURN_IF_ERROR(txn.nodes().Put(record));
    std::vector<StepResultRecord> earlier;
    if (run == nullptr && known_plan) {
      ASSIGN_OR_RETURN(node, StoredNode(txn, run_id, uuid));
      ASSIGN_OR_RETURN(earlier, txn.step_results().List(run_id, node ? node->name : ""));
    }
    if (!node.has_value()) return absl::OkStatus();
    if (report.has_step()) {
      const v1::StepResult& step = report.step();
      const auto outcome = static_cast<StepOutcome>(step.status());
      std::optional<StepOutcome> before = EarlierOutcome(earlier, play, step.step_id());
      if (run != nullptr) {
        const auto counted = run->counted.find({node->name, StepKey(play, step.step_id())});
        if (counted != run->counted.end()) before = counted->second;
      }
      CountStep(*node, before, outcome);
      NoteFirstError(*node, step);
      result.run_id = run_id;
      result.node = node->name;
      result.play_index = play;
      result.sequence = run != nullptr    ? run->log->ReserveSequence()
                        : earlier.empty() ? 1
                                          : earlier.back().sequence + 1;
      result.step_id = step.step_id();
      result.status = step.status();
      step.SerializeToString(&result.result);
      result.time = with_.clock.Now();
      RETURN_IF_ERROR(txn.step_results().Put(result));
    } else if (report.has_outcome()) {
      const v1::PlanOutcome& outcome = report.outcome();
      ApplyOutcome(*node, play, outcome.succeeded(), outcome.cancelled(), outcome.message());
    }
    return txn.runs().PutNode(ToRecord(run_id, *node));
  });
  // A machine that is not enrolled any more has nothing to report.
  if (absl::IsNotFound(status)) return absl::OkStatus();
  RETURN_IF_ERROR(status);
  v1::ControllerMessage stored;
  stored.mutable_reports_stored()->set_up_to_sequence(stored_up_to);
  with_.sessions.Send(uuid, stored).IgnoreError();
  if (!fresh || run == nullptr || !node.has_value()) return absl::OkStatus();
  if (report.has_step()) {
    run->counted[{node->name, StepKey(play, result.step_id)}] =
        static_cast<StepOutcome>(result.status);
    run->log->Append(StepEvent(result));
  }
  Perform(*run, run->state.Replace(*node));
  return absl::OkStatus();
}

void RunEngine::ConsiderCatchUp(const std::string& uuid) {
  NodeRecord node;
  RunRecord missed;
  const absl::Status status = with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(node, txn.nodes().Get(uuid));
    if (node.last_run_result != "unreachable") return absl::NotFoundError("nothing missed");
    ASSIGN_OR_RETURN(missed, txn.runs().Get(node.last_run_id));
    return absl::OkStatus();
  });
  if (!status.ok()) return;
  if (missed.state == RunRecord::kRunning || missed.state == RunRecord::kCancelled) return;
  if (RequestOf(missed).check_only()) return;
  catch_up_.Add(missed.run_id, node.name, with_.clock.Now());
}

void RunEngine::StartCatchUps() {
  for (CatchUpBatch& batch : catch_up_.TakeDue(with_.clock.Now())) {
    v1::CreateRunRequest request;
    std::vector<std::string> still;
    const absl::Status read = with_.store.View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const RunRecord missed, txn.runs().Get(batch.run_id));
      request = RequestOf(missed);
      for (const std::string& name : batch.nodes) {
        const absl::StatusOr<NodeRecord> node = txn.nodes().GetByName(name);
        if (node.ok() && node->last_run_id == batch.run_id) still.push_back(name);
      }
      return absl::OkStatus();
    });
    if (!read.ok() || still.empty()) continue;
    const std::string nodes = FoldHostlist(still);
    request.set_limit(nodes);
    const absl::Status created =
        CreateCatchingUp(request, {"controller", ""}, batch.run_id).status();
    if (created.ok()) continue;
    with_.store
        .Update([&](Transaction& txn) {
          EventRecord event;
          event.time = with_.clock.Now();
          event.actor = "controller";
          event.action = "run.catch_up_failed";
          event.subject = batch.run_id;
          event.detail = absl::StrCat(
              nodes, ": ", absl::string_view(created.message().data(), created.message().size()));
          return txn.events().Append(std::move(event));
        })
        .IgnoreError();
  }
}

void RunEngine::Tick() {
  HandleBacklog();
  for (auto& [run_id, run] : active_) Perform(*run, run->state.Tick(with_.clock.Now()));
  RemoveFinished();
  StartCatchUps();
}

}  // namespace muster::controller
