// RunEngine: carries out the decisions of RunState.
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "controller/audit/audit.h"
#include "controller/claim/node_claims.h"
#include "controller/run/active_run.h"
#include "controller/run/plan/plan_finish.h"
#include "controller/run/run_engine.h"
#include "controller/run/run_records.h"
#include "controller/session/facts_round.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {
namespace {

// The validations that the run asks for at its end: its suites, for the nodes that came through it.
std::vector<RunValidationRecord> AskedValidations(const ActiveRun& run) {
  std::vector<RunValidationRecord> rows;
  if (run.state.cancelling()) return rows;
  for (const PlaybookEnding& ending : run.endings) {
    std::vector<std::string> names;
    for (const std::string& name : ending.nodes) {
      const RunNode* node = run.state.FindByName(name);
      if (node != nullptr && node->phase == NodePhase::kDone) names.push_back(name);
    }
    if (names.empty()) continue;
    RunValidationRecord& row = rows.emplace_back();
    row.run_id = run.record.run_id;
    row.position = static_cast<uint32_t>(rows.size() - 1);
    row.play = ending.play;
    row.suite = ending.suite;
    row.nodes = FoldHostlist(std::move(names));
  }
  return rows;
}

}  // namespace

void RunEngine::Perform(ActiveRun& run, RunActions actions) {
  run.links.clear();  // those of an earlier attempt are no longer true
  run.pending.insert(run.pending.end(), std::make_move_iterator(actions.begin()),
                     std::make_move_iterator(actions.end()));
  // Stored first, then acted on. Failures stay pending for the next Tick().
  if (!Persist(run).ok()) return;
  size_t done = 0;
  while (done < run.pending.size()) {
    RunActions more;
    if (!Carry(run, run.pending[done], more).ok()) break;
    ++done;
    run.pending.insert(run.pending.end(), std::make_move_iterator(more.begin()),
                       std::make_move_iterator(more.end()));
    if (!Persist(run).ok()) break;
  }
  run.pending.erase(run.pending.begin(), run.pending.begin() + static_cast<std::ptrdiff_t>(done));
}

absl::Status RunEngine::Persist(ActiveRun& run) {
  const std::vector<const RunNode*> changed = run.state.TakeChanged();
  if (changed.empty() && !run.record_changed) return absl::OkStatus();
  const absl::Status status = with_.store.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.runs().Put(run.record));
    for (const RunNode* node : changed) {
      RETURN_IF_ERROR(txn.runs().PutNode(ToRecord(run.record.run_id, *node)));
    }
    return absl::OkStatus();
  });
  if (status.ok()) {
    run.record_changed = false;
  } else {
    run.state.MarkChanged(changed);
  }
  return status;
}

absl::Status RunEngine::Carry(ActiveRun& run, const RunAction& action, RunActions& more) {
  switch (action.kind) {
    case RunAction::kNextPlay:
      return NextPlay(run, action.play, /*resumed=*/false, more);
    case RunAction::kGatherFacts:
      return GatherFacts(run, more);
    case RunAction::kCompile:
      return CompilePlay(run, more);
    case RunAction::kFinish:
      return Finish(run);
    case RunAction::kSendPlan:
      SendPlan(run, action.node);
      break;
    case RunAction::kSendCancel:
      SendCancel(run.state.FindByName(action.node)->uuid, PlanId(run.record.run_id, action.play));
      break;
    case RunAction::kNodeFinished:
      PublishNodeFinished(run, action.node);
      break;
    case RunAction::kPlayStarted: {
      v1::RunEvent event;
      v1::PlayStarted& started = *event.mutable_play_started();
      started.set_play_index(action.play);
      started.set_name(run.record.plays[action.play]);
      for (std::string& name : run.state.PlayMembers()) started.add_nodes(std::move(name));
      *event.mutable_time() = ToTimestamp(with_.clock.Now());
      run.log->Append(std::move(event));
      break;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, NodeLink>> RunEngine::Links() {
  std::map<std::string, NodeLink> links;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
    for (const NodeRecord& node : nodes) {
      if (node.state != NodeRecord::kEnrolled && node.state != NodeRecord::kConfigured) continue;
      links[node.name] = {node.uuid, false};
    }
    return absl::OkStatus();
  }));
  for (auto& [name, link] : links) link.connected = with_.sessions.IsConnected(link.uuid);
  return links;
}

absl::Status RunEngine::NextPlay(ActiveRun& run, uint32_t play, bool resumed, RunActions& more) {
  ASSIGN_OR_RETURN(run.links, Links());
  more = run.state.StartPlay(play, run.links, resumed, with_.clock.Now());
  run.plans.clear();
  run.record.current_play = run.state.play();
  run.record_changed = true;
  if (play > 0 && with_.on_service_changed) with_.on_service_changed();
  return absl::OkStatus();
}

absl::Status RunEngine::GatherFacts(ActiveRun& run, RunActions& more) {
  std::map<std::string, NodeLink> links = std::exchange(run.links, {});
  if (links.empty()) {
    ASSIGN_OR_RETURN(links, Links());
  }
  const std::string plan_id = PlanId(run.record.run_id, run.state.play());
  v1::ControllerMessage message;
  message.mutable_gather_facts()->set_request_id(
      ToRequestId({FactsRequest::Owner::kPlay, plan_id}));
  const absl::Time now = with_.clock.Now();
  std::set<std::string> awaited;
  run.awaited_answers.clear();
  for (const auto& [name, link] : links) {
    if (!link.connected) continue;
    const bool is_own = run.state.FindByUuid(link.uuid) != nullptr;
    if (is_own ? facts_.IsFreshInRun(link.uuid, run.record.run_id, now)
               : facts_.IsFreshOutside(link.uuid, now))
      continue;
    // The answer to an earlier question is too old for a node that the run works on.
    std::string open = is_own ? "" : facts_.OpenQuestion(link.uuid, now);
    if (!open.empty()) {
      run.awaited_answers[link.uuid] = std::move(open);
    } else if (with_.sessions.Send(link.uuid, message).ok()) {
      facts_.OnAsked(link.uuid, plan_id, now);
    } else {
      continue;
    }
    awaited.insert(link.uuid);
  }
  more = run.state.FactsAsked(std::move(awaited), now);
  return absl::OkStatus();
}

absl::Status RunEngine::CompilePlay(ActiveRun& run, RunActions& more) {
  PlayWork work;
  work.run_id = run.record.run_id;
  work.play = run.state.play();
  work.play_name = run.record.plays[work.play];
  work.check_only = run.request.check_only();
  work.want_diff = run.request.want_diff();
  work.options = run.options;
  work.playbook = run.playbook;
  work.inventory = run.inventory;
  work.held = run.held;
  work.puts_reboots_off = run.request.reboots() == v1::REBOOT_MODE_NEVER;
  for (std::string& name : run.state.PlanTargets()) {
    const RunNode& node = *run.state.FindByName(name);
    const bool is_last = *node.plays.rbegin() == work.play;
    if (is_last && run.request.reboots() == v1::REBOOT_MODE_ALWAYS) work.last_here.insert(name);
    if (work.check_only && node.changed > 0) work.changed.insert(name);
    work.nodes.emplace_back(std::move(name), node.uuid);
  }
  if (work.nodes.empty()) {
    more = run.state.Compiled({}, {});
    return absl::OkStatus();
  }
  if (compile_later_) {
    compile_later_(std::move(work));
    return absl::OkStatus();
  }
  absl::Status status;
  CompilePlans(with_, *kept_facts_, work, [&](PlanBatch batch) {
    RunActions actions;
    status = TakePlans(run, std::move(batch), actions);
    more.insert(more.end(), actions.begin(), actions.end());
    return status.ok();
  });
  return status;
}

absl::Status RunEngine::TakePlans(ActiveRun& run, PlanBatch batch, RunActions& more) {
  RETURN_IF_ERROR(batch.status);
  std::vector<std::string> names;
  std::map<std::string, absl::Status> errors;
  std::set<std::string> idle;
  for (FinishedPlan& plan : batch.plans) {
    names.push_back(plan.node);
    if (!plan.steps_digest.empty()) run.state.SetStepsDigest(plan.node, plan.steps_digest);
    if (!plan.error.ok()) {
      errors[plan.node] = std::move(plan.error);
    } else if (plan.message == nullptr) {
      idle.insert(plan.node);
    } else {
      run.plans[plan.node] = std::move(plan.message);
    }
  }
  more = run.state.Compiled(names, errors, idle);
  return absl::OkStatus();
}

void RunEngine::OnPlans(PlanBatch batch) {
  ActiveRun* run = Find(batch.run_id);
  if (run == nullptr || run->state.play() != batch.play || run->state.finished()) return;
  RunActions more;
  const uint32_t play = batch.play;
  if (TakePlans(*run, std::move(batch), more).ok()) {
    Perform(*run, std::move(more));
  } else {
    // Compiles the nodes that still have no plan with the next Tick().
    run->pending.push_back({RunAction::kCompile, "", play});
  }
  RemoveFinished();
}

void RunEngine::SendPlan(ActiveRun& run, const std::string& node) {
  const auto plan = run.plans.find(node);
  if (plan == run.plans.end()) return;
  const absl::Status sent = with_.sessions.SendPlan(run.state.FindByName(node)->uuid, plan->second);
  if (!sent.ok()) run.state.OnSendFailed(node);
}

void RunEngine::SendCancel(const std::string& uuid, const std::string& plan_id) {
  v1::ControllerMessage message;
  message.mutable_cancel_plan()->set_plan_id(plan_id);
  // Lost with the connection: sent again when the agent is back.
  with_.sessions.Send(uuid, message).IgnoreError();
}

void RunEngine::PublishNodeFinished(ActiveRun& run, const std::string& node) {
  v1::RunEvent event;
  event.set_node(node);
  *event.mutable_time() = ToTimestamp(with_.clock.Now());
  FillRecap(ToRecord(run.record.run_id, *run.state.FindByName(node)),
            *event.mutable_node_finished());
  run.log->Append(std::move(event));
  run.plans.erase(node);
}

absl::Status RunEngine::Finish(ActiveRun& run) {
  RunRecord record = run.record;
  record.finished_at = with_.clock.Now();
  record.state = RunRecord::kSucceeded;
  size_t bad = 0;
  std::vector<RunNodeRecord> rows;
  for (const RunNode& node : run.state.nodes()) {
    rows.push_back(ToRecord(record.run_id, node));
    if (node.phase == NodePhase::kFailed || node.phase == NodePhase::kUnreachable) ++bad;
  }
  if (bad > 0) record.state = RunRecord::kFailed;
  if (run.state.cancelling()) record.state = RunRecord::kCancelled;
  const std::vector<RunValidationRecord> validations = AskedValidations(run);
  RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.runs().Put(record));
    RETURN_IF_ERROR(RebootPermits::FreeAll(txn, record.run_id));
    for (const RunValidationRecord& row : validations) {
      RETURN_IF_ERROR(txn.run_validations().Put(row));
    }
    for (const RunNode& node : run.state.nodes()) {
      if (run.request.check_only() || node.uuid.empty()) continue;
      absl::StatusOr<NodeRecord> enrolled = txn.nodes().Get(node.uuid);
      if (absl::IsNotFound(enrolled.status())) continue;
      RETURN_IF_ERROR(enrolled.status());
      if (enrolled->last_run_id != record.run_id) continue;
      enrolled->last_run_result = ResultWord(node);
      if (node.phase == NodePhase::kDone && enrolled->state == NodeRecord::kEnrolled) {
        enrolled->state = NodeRecord::kConfigured;
      }
      RETURN_IF_ERROR(txn.nodes().Put(*enrolled));
    }
    return Audit(txn, *record.finished_at, ControllerActor(), "run.finish", record.run_id,
                 run.state.cancelling() ? record.message
                                        : absl::StrCat(Counted(rows.size(), "node"), ", ", bad,
                                                       " failed or unreachable"));
  }));
  run.record = record;
  run.drains.clear();
  v1::RunEvent event;
  *event.mutable_time() = ToTimestamp(*record.finished_at);
  *event.mutable_run_finished() = ToProto(record, rows);
  FillValidations(validations, *event.mutable_run_finished());
  run.log->Append(std::move(event));
  run.log->End();
  feeds_->End(record.run_id, *record.finished_at);
  if (with_.on_service_changed) with_.on_service_changed();
  return absl::OkStatus();
}

void RunEngine::RemoveFinished() {
  std::vector<std::string> back;
  for (auto it = active_.begin(); it != active_.end();) {
    ActiveRun& run = *it->second;
    if (!run.state.finished() || !run.pending.empty() || run.record.state == RunRecord::kRunning) {
      ++it;
      continue;
    }
    reboots_.End(run);
    for (const RunNode& node : run.state.nodes()) {
      if (node.came_back) back.push_back(node.uuid);
    }
    const std::string run_id = run.record.run_id;
    const bool has_endings = !run.endings.empty();
    if (with_.claims != nullptr) with_.claims->Release(run_id);
    it = active_.erase(it);
    if (has_endings && with_.on_ended) with_.on_ended(run_id);
  }
  for (const std::string& uuid : back) catch_ups_.Consider(uuid);
}

}  // namespace muster::controller
