#include "controller/rollout/rollout_manager.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/gate/job_gate.h"
#include "controller/inventory/inventory.h"
#include "controller/rollout/forecast.h"
#include "controller/rollout/node_work.h"
#include "controller/rollout/plan/rollout_plan.h"
#include "controller/rollout/preparation.h"
#include "controller/rollout/requeue.h"
#include "controller/rollout/rollout_changes.h"
#include "controller/rollout/rollout_records.h"
#include "controller/rollout/way_back/rollout_stack.h"
#include "controller/rollout/way_back/way_back.h"
#include "controller/run/collaborators.h"
#include "controller/run/run_engine.h"
#include "controller/session/agent_sessions.h"
#include "controller/store/store.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::rollout {
namespace {

// What a decision about a node does to it.
struct NodeDecisionRow {
  Decision::Kind kind;
  NodeEvent event;
};
constexpr NodeDecisionRow kNodeDecisions[] = {
    {Decision::kTake, NodeEvent::kTaken},          {Decision::kIdle, NodeEvent::kIdle},
    {Decision::kPassOver, NodeEvent::kPassedOver}, {Decision::kGiveBack, NodeEvent::kGivenBack},
    {Decision::kLeaveOut, NodeEvent::kLeftOut},    {Decision::kRequeue, NodeEvent::kOverdue},
};
struct WholeDecisionRow {
  Decision::Kind kind;
  RolloutEvent event;
};
constexpr WholeDecisionRow kWholeDecisions[] = {
    {Decision::kWaveDone, RolloutEvent::kWaveDone},
    {Decision::kSoaked, RolloutEvent::kSoaked},
    {Decision::kPause, RolloutEvent::kPaused},
    {Decision::kRollBack, RolloutEvent::kRolledBack},
    {Decision::kComplete, RolloutEvent::kCompleted},
    {Decision::kSettle, RolloutEvent::kSettled},
};

std::string NothingToRollBackTo(const RolloutRecord& record) {
  return absl::StrCat(
      "there is no bundle to roll back to: nothing else was applied whole with this "
      "playbook before rollout ",
      record.rollout_id);
}

// What becomes of the nodes that were touched. `by`: the rollout that takes them back, or "".
std::string TakenBackText(const std::string& by, const std::vector<std::string>& gone) {
  const std::string nodes = FoldHostlist(gone);
  if (by.empty()) {
    return gone.empty()
               ? "no node had been updated"
               : absl::StrCat("nothing is left to take back: ", nodes, " left the cluster");
  }
  return absl::StrCat(
      by, " takes it back",
      gone.empty() ? "" : absl::StrCat(", without ", nodes, ", which left the cluster"));
}

// Whether the inventory in force does not have the node any more.
bool HasLeft(const RolloutCollaborators& with, const std::string& node) {
  const absl::StatusOr<InventoryVersion> inventory = with.inventory.Latest();
  return inventory.ok() && inventory->inventory->FindNode(node) == nullptr;
}

RunActor CreatorOf(const RolloutRecord& record) {
  RunActor actor;
  actor.name = record.created_by;
  actor.mandate = {record.created_by, record.mandate_serial, record.certificate_ends,
                   record.created_at};
  return actor;
}

// Why the creator may not have the rollout carried out any more, with the remedy; "": they may.
std::string LackOfMandate(const RolloutCollaborators& with, const RolloutRecord& record) {
  const absl::Status may = with.may_continue(CreatorOf(record).mandate);
  if (!absl::IsPermissionDenied(may)) return "";
  return absl::StrCat(may.message(), "; muster rollout abort ", record.rollout_id,
                      " ends it, and muster rollout resume continues it once they may again");
}

// Enters what was begun for the nodes and could not be stored.
absl::Status EnterLostWork(Store& store, ActiveRollout& rollout, absl::Time now) {
  std::vector<NodeMove> lost;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(lost, FindLostWork(txn, rollout));
    return absl::OkStatus();
  }));
  return Commit(store, rollout, lost, std::nullopt, ControllerActor(), now);
}

std::vector<NodeMove> NodeMovesOf(const std::vector<Decision>& decisions, const RolloutView& view) {
  std::map<std::string, size_t> index;
  for (size_t i = 0; i < view.nodes.size(); ++i) index[view.nodes[i].name] = i;
  std::vector<NodeMove> moves;
  for (const Decision& decision : decisions) {
    for (const NodeDecisionRow& row : kNodeDecisions) {
      if (row.kind != decision.kind) continue;
      NodeMove& move = moves.emplace_back();
      move.node = index.at(decision.node);
      move.event = row.event;
      move.message = decision.reason;
      if (row.event != NodeEvent::kTaken) continue;
      const NodeView& node = view.nodes[move.node];
      move.service_before = node.service;
      move.was_available = node.is_available;
    }
  }
  return moves;
}

std::optional<RolloutMove> WholeMoveOf(const std::vector<Decision>& decisions) {
  for (const Decision& decision : decisions) {
    for (const WholeDecisionRow& row : kWholeDecisions) {
      if (row.kind == decision.kind) return RolloutMove{row.event, decision.reason, ""};
    }
  }
  return std::nullopt;
}

}  // namespace

RolloutManager::RolloutManager(RolloutCollaborators collaborators)
    : with_(std::move(collaborators)), worker_(with_.clock, [this] { return Step(); }) {}

RolloutManager::~RolloutManager() { Stop(); }

absl::Status RolloutManager::Resume() {
  std::vector<RolloutRecord> open;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(open, txn.rollouts().ListOpen());
    return absl::OkStatus();
  }));
  absl::MutexLock lock(&mutex_);
  for (const RolloutRecord& record : open) {
    ASSIGN_OR_RETURN(ActiveRollout rollout, ReadActive(with_, record.rollout_id));
    RETURN_IF_ERROR(EnterLostWork(with_.store, rollout, with_.clock.Now()));
    active_[record.rollout_id] = std::make_unique<ActiveRollout>(std::move(rollout));
  }
  return absl::OkStatus();
}

ActiveRollout* RolloutManager::Find(const std::string& rollout_id) {
  const auto found = active_.find(rollout_id);
  return found == active_.end() ? nullptr : found->second.get();
}

absl::StatusOr<std::string> RolloutManager::Insert(ActiveRollout rollout) {
  RolloutRecord& record = rollout.record;
  record.rollout_id = NewShortId("u");
  std::set<std::string> wanted;
  for (RolloutNodeRecord& node : rollout.nodes) {
    node.rollout_id = record.rollout_id;
    wanted.insert(node.node);
  }
  v1::RolloutEvent created;
  created.set_sequence(1);
  *created.mutable_time() = ToTimestamp(record.created_at);
  created.set_state(rollout.state());
  RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto open, txn.rollouts().ListOpen());
    for (const RolloutRecord& other : open) {
      if (other.rollout_id == rollout.request.rolls_back_id()) continue;
      std::vector<std::string> both;
      ASSIGN_OR_RETURN(const auto nodes, txn.rollouts().ListNodes(other.rollout_id));
      for (const RolloutNodeRecord& node : nodes) {
        if (wanted.count(node.node) > 0) both.push_back(node.node);
      }
      if (both.empty()) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "rollout ", other.rollout_id, " of ", other.created_by, " updates ",
          FoldHostlist(std::move(both)), ": wait for it (muster rollout watch ", other.rollout_id,
          "), or end it (muster rollout abort ", other.rollout_id, ")"));
    }
    RETURN_IF_ERROR(txn.rollouts().Put(record));
    for (const RolloutNodeRecord& node : rollout.nodes)
      RETURN_IF_ERROR(txn.rollouts().PutNode(node));
    RETURN_IF_ERROR(
        txn.rollouts().AppendEvent({record.rollout_id, 1, created.SerializeAsString()}));
    return Audit(
        txn, record.created_at, Actor{record.created_by, ""}, "rollout.create", record.rollout_id,
        absl::StrCat(rollout.request.playbook(), " of bundle ", rollout.request.bundle_sha256(),
                     " over ", FoldHostlist({wanted.begin(), wanted.end()})));
  }));
  return record.rollout_id;
}

absl::StatusOr<v1::Rollout> RolloutManager::Create(const v1::CreateRolloutRequest& request,
                                                   const RunActor& actor) {
  v1::CreateRolloutRequest asked = request;
  // For the controller alone.
  asked.clear_rolls_back_id();
  asked.clear_revision_before();
  asked.clear_node_stacks();
  asked.clear_node_images();
  if (!asked.stack().empty() && asked.extra_vars().count("stack") > 0) {
    return absl::InvalidArgumentError(
        "stack: the inventory chooses the stack of a rollout, not a variable (-e stack) as well");
  }
  ASSIGN_OR_RETURN(ActiveRollout prepared, PrepareRollout(with_, asked, actor));
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const std::string id, Insert(std::move(prepared)));
  ASSIGN_OR_RETURN(ActiveRollout rollout, ReadActive(with_, id));
  auto& active = active_[id] = std::make_unique<ActiveRollout>(std::move(rollout));
  worker_.Wake();
  return ToProto(active->record, active->nodes, active->limits);
}

absl::StatusOr<v1::PreviewRolloutResponse> RolloutManager::Preview(
    const v1::CreateRolloutRequest& request, const RunActor& actor) {
  ASSIGN_OR_RETURN(const ActiveRollout rollout, PrepareRollout(with_, request, actor));
  const Observation seen = Observe(with_, rollout.names());
  Absences absences;
  {
    absl::MutexLock lock(&mutex_);
    absences = absences_;
  }
  const RolloutView view = ViewOf(rollout, seen, absences, with_);
  return ForecastOf(with_.store, rollout, seen, view);
}

absl::StatusOr<v1::Rollout> RolloutManager::Change(const std::string& rollout_id,
                                                   RolloutEvent event, absl::string_view reason,
                                                   const Actor& actor) {
  absl::MutexLock lock(&mutex_);
  ActiveRollout* rollout = Find(rollout_id);
  if (rollout == nullptr) {
    RolloutRecord ended;
    RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(ended, txn.rollouts().Get(rollout_id));
      return absl::OkStatus();
    }));
    return absl::FailedPreconditionError(
        absl::StrCat("rollout ", rollout_id, " is ",
                     StateName(static_cast<v1::RolloutState>(ended.state)), " already"));
  }
  if (event == RolloutEvent::kRolledBack && rollout->record.previous_bundle.empty())
    return absl::FailedPreconditionError(NothingToRollBackTo(rollout->record));
  const std::string by = event == RolloutEvent::kResumed
                             ? std::string(reason)
                             : absl::StrCat("by ", actor.name, reason.empty() ? "" : ": ", reason);
  RolloutMove move{event, by, ""};
  if (event == RolloutEvent::kResumed)
    move.forgiven = FailuresToForgive(ViewOf(*rollout, seen_, absences_, with_));
  RETURN_IF_ERROR(Commit(with_.store, *rollout, {}, move, actor, with_.clock.Now()));
  worker_.Wake();
  return ToProto(rollout->record, rollout->nodes, rollout->limits);
}

absl::StatusOr<v1::ExplainRolloutNodeResponse> RolloutManager::Explain(const std::string& node,
                                                                       std::string rollout_id) {
  if (rollout_id.empty()) {
    RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const RolloutRecord newest, txn.rollouts().NewestOf(node));
      rollout_id = newest.rollout_id;
      return absl::OkStatus();
    }));
  }
  ASSIGN_OR_RETURN(const ActiveRollout stored, ReadActive(with_, rollout_id));
  Observation seen;
  Absences absences;
  {
    absl::MutexLock lock(&mutex_);
    seen = seen_;
    absences = absences_;
  }
  const auto row = std::find_if(stored.nodes.begin(), stored.nodes.end(),
                                [&](const RolloutNodeRecord& each) { return each.node == node; });
  if (row == stored.nodes.end())
    return absl::NotFoundError(absl::StrCat(node, " has no part in rollout ", rollout_id));
  v1::ExplainRolloutNodeResponse response;
  response.set_rollout_id(rollout_id);
  *response.mutable_node() = ToProto(*row);
  response.set_explanation(ExplainNode(ViewOf(stored, seen, absences, with_), node));
  return response;
}

absl::StatusOr<std::shared_ptr<RolloutWatch>> RolloutManager::Watch(
    const std::string& rollout_id, uint64_t after_sequence, std::function<void()> on_ready) {
  if (watches_ended_) return absl::UnavailableError("the controller is stopping");
  {
    absl::MutexLock lock(&mutex_);
    if (const ActiveRollout* rollout = Find(rollout_id))
      return rollout->feed->Watch(after_sequence, std::move(on_ready));
  }
  ASSIGN_OR_RETURN(const ActiveRollout ended, ReadActive(with_, rollout_id));
  ended.feed->End();
  return ended.feed->Watch(after_sequence, std::move(on_ready));
}

void RolloutManager::EndWatches() {
  watches_ended_ = true;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, rollout] : active_) rollout->feed->Break();
}

std::vector<std::string> RolloutManager::JobsWanted() {
  std::vector<std::string> names;
  for (const auto& [id, rollout] : active_) {
    uint32_t active = 0;
    for (size_t i = 0; i < rollout->nodes.size(); ++i) active += IsActive(rollout->step(i));
    const bool may_take =
        rollout->state() == v1::ROLLOUT_STATE_ROLLING && active < rollout->limits.max_unavailable;
    for (size_t i = 0; i < rollout->nodes.size(); ++i) {
      const v1::RolloutStep step = rollout->step(i);
      if (IsEmptying(step) || (may_take && step == v1::ROLLOUT_STEP_PENDING))
        names.push_back(rollout->nodes[i].node);
    }
  }
  return names;
}

void RolloutManager::LookAtSlurm() {
  const absl::Time now = with_.clock.Now();
  // A clock that was set back does not keep it from looking.
  const bool is_early = now < next_look_at_slurm_ && next_look_at_slurm_ - now <= absl::Minutes(1);
  if (!is_look_due_.exchange(false) && is_early) return;
  std::vector<std::string> wanted;
  {
    absl::MutexLock lock(&mutex_);
    wanted = JobsWanted();
  }
  Observation seen = Observe(with_, wanted);
  next_look_at_slurm_ = with_.clock.Now() + kSlurmInterval * (1 + seen.nodes.size() / 1000);
  absl::MutexLock lock(&mutex_);
  if (seen.trouble.empty()) seen.answers_since = std::min(seen.at, seen_.answers_since);
  seen_ = std::move(seen);
}

absl::Time RolloutManager::Step() {
  {
    absl::MutexLock lock(&mutex_);
    if (active_.empty()) return absl::InfiniteFuture();
  }
  LookAtSlurm();
  std::vector<Opening> openings;
  bool is_busy = false;
  {
    absl::MutexLock lock(&mutex_);
    std::vector<std::string> ids;
    for (const auto& [id, rollout] : active_) ids.push_back(id);
    for (const std::string& id : ids) {
      ActiveRollout& rollout = *active_.at(id);
      // What the store cannot take now is decided again at the next look.
      const absl::Status advanced = Advance(rollout, openings);
      if (!advanced.ok() && advanced != advanced_ && with_.warn)
        with_.warn(absl::StrCat("rollout ", id, ": ", advanced.message()));
      if (!advanced.ok()) advanced_ = advanced;
      for (size_t i = 0; i < rollout.nodes.size() && !is_busy; ++i)
        is_busy = IsActive(rollout.step(i));
      is_busy = is_busy || rollout.state() == v1::ROLLOUT_STATE_ROLLING;
      if (rollout.record.finished_at.has_value()) active_.erase(id);
    }
  }
  if (openings.size() > kStartsAtOnce) openings.resize(kStartsAtOnce);
  for (const Opening& opening : openings) {
    if (worker_.is_stopping()) break;
    Begin(opening);
  }
  return with_.clock.Now() + (is_busy ? kBusyInterval : kIdleInterval);
}

absl::Status RolloutManager::Advance(ActiveRollout& rollout, std::vector<Opening>& openings) {
  const absl::Time now = with_.clock.Now();
  // Otherwise a node would be left out while its run continues.
  if (IsEnding(rollout.state())) RETURN_IF_ERROR(EnterLostWork(with_.store, rollout, now));
  std::vector<NodeMove> moves;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    mutex_.AssertHeld();
    ASSIGN_OR_RETURN(moves, ReadProgress(txn, rollout, seen_));
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(Commit(with_.store, rollout, moves, std::nullopt, ControllerActor(), now));
  bool has_moved = !moves.empty();

  RolloutView view = ViewOf(rollout, seen_, absences_, with_);
  view.no_mandate = LackOfMandate(with_, rollout.record);
  std::vector<Decision> decisions = Decide(view);
  // Which of the pending nodes comes next depends on their jobs, which nobody asked for while all
  // slots were taken: that is done first.
  const auto is_early = [&](const Decision& decision) {
    mutex_.AssertHeld();
    return decision.kind == Decision::kTake && !seen_.KnowsJobsOf(decision.node);
  };
  const auto kept = std::remove_if(decisions.begin(), decisions.end(), is_early);
  if (kept != decisions.end()) next_look_at_slurm_ = absl::InfinitePast();
  decisions.erase(kept, decisions.end());
  moves = NodeMovesOf(decisions, view);
  RETURN_IF_ERROR(Commit(with_.store, rollout, moves, std::nullopt, ControllerActor(), now));
  has_moved = has_moved || !moves.empty();
  // A hold has come or gone: the gate tells Slurm.
  if (has_moved) with_.gate.Wake();

  if (const std::optional<RolloutMove> whole = WholeMoveOf(decisions))
    RETURN_IF_ERROR(Settle(rollout, *whole));
  for (size_t i = 0; i < rollout.nodes.size(); ++i) {
    const v1::RolloutStep step = rollout.step(i);
    const RolloutNodeRecord& node = rollout.nodes[i];
    const bool needs_run =
        step == v1::ROLLOUT_STEP_APPLYING && node.run_id.empty() && !IsEnding(rollout.state());
    const bool needs_requeue = !JobsToRequeue(rollout, i, seen_).empty();
    if (!needs_run && !rollout.waits_for_suite(i) && !needs_requeue) continue;
    const auto retry = rollout.retry_at.find(i);
    const bool is_due = retry == rollout.retry_at.end() || retry->second <= now ||
                        retry->second - now > kRetryInterval;  // the clock was set back
    if (is_due) openings.push_back({rollout.record.rollout_id, i, step});
  }
  return absl::OkStatus();
}

absl::Status RolloutManager::Settle(ActiveRollout& rollout, RolloutMove move) {
  if (move.event == RolloutEvent::kRolledBack && rollout.record.previous_bundle.empty()) {
    move.event = RolloutEvent::kPaused;
    move.message = absl::StrCat(move.message, "; ", NothingToRollBackTo(rollout.record));
  }
  if (move.event == RolloutEvent::kSettled && rollout.state() == v1::ROLLOUT_STATE_ROLLING_BACK) {
    ASSIGN_OR_RETURN(const TouchedNodes touched, TouchedBy(with_, rollout));
    const absl::StatusOr<std::string> back = CreateWayBack(rollout, touched.here);
    if (absl::IsUnavailable(back.status()) || absl::IsResourceExhausted(back.status()))
      return back.status();
    move.message = absl::StrCat(
        rollout.record.message, "; ",
        !back.ok() ? absl::StrCat("it could not be taken back: ", back.status().message())
                   : TakenBackText(*back, touched.gone),
        LeftToUndo(with_, rollout));
    if (back.ok()) {
      move.rolled_back_by = *back;
    } else {
      move.event = RolloutEvent::kAborted;
    }
  } else if (move.event == RolloutEvent::kSettled) {
    move.message = rollout.record.message;
  }
  return Commit(with_.store, rollout, {}, move, ControllerActor(), with_.clock.Now());
}

absl::StatusOr<std::string> RolloutManager::CreateWayBack(const ActiveRollout& rollout,
                                                          const std::vector<std::string>& touched) {
  // An earlier process may have created it and not stored that it had.
  for (const auto& [id, other] : active_) {
    if (other->request.rolls_back_id() == rollout.record.rollout_id) return id;
  }
  if (touched.empty()) return "";
  v1::CreateRolloutRequest request = rollout.request;
  request.clear_plan_sha256();
  request.set_bundle_sha256(rollout.record.previous_bundle);
  request.set_limit(FoldHostlist(touched));
  request.set_canary(0);
  request.clear_waves();
  request.set_max_unavailable(absl::StrCat(rollout.limits.max_unavailable));
  request.set_failure_budget(0);
  request.set_on_failure(v1::ROLLOUT_FAILURE_ACTION_PAUSE);
  request.clear_windows();  // nodes that failed are out of service until they are taken back
  request.set_rolls_back_id(rollout.record.rollout_id);
  RETURN_IF_ERROR(TakeStackBack(with_, touched, request));
  ASSIGN_OR_RETURN(ActiveRollout back, PrepareRollout(with_, request, CreatorOf(rollout.record)));
  ASSIGN_OR_RETURN(const std::string id, Insert(std::move(back)));
  ASSIGN_OR_RETURN(ActiveRollout stored, ReadActive(with_, id));
  active_[id] = std::make_unique<ActiveRollout>(std::move(stored));
  return id;
}

void RolloutManager::Begin(const Opening& opening) {
  if (opening.step == v1::ROLLOUT_STEP_REQUEUING) return Requeue(opening);
  v1::CreateRolloutRequest request;
  RolloutNodeRecord node;
  RunActor actor;
  const bool is_run = opening.step == v1::ROLLOUT_STEP_APPLYING;
  bool is_ending = false;
  {
    absl::MutexLock lock(&mutex_);
    const ActiveRollout* rollout = Find(opening.rollout_id);
    if (rollout == nullptr || rollout->step(opening.node) != opening.step) return;
    is_ending = IsEnding(rollout->state());
    if (is_run && is_ending) return;
    request = rollout->request;
    node = rollout->nodes[opening.node];
    actor = CreatorOf(rollout->record);
  }
  const absl::Status may = with_.may_continue(actor.mandate);
  // A rollout that is to end does not wait for a person who may not have the node tested any more.
  const bool is_refused = is_ending && absl::IsPermissionDenied(may);
  if (!may.ok() && !is_refused) return Note(opening, absl::StrCat("waits: ", may.message()));
  absl::StatusOr<std::string> id;
  if (is_refused) {
    id = absl::PermissionDeniedError(absl::StrCat("it was not validated: ", may.message()));
  } else if (is_run) {
    actor.rollout_id = opening.rollout_id;
    for (const auto& [name, value] : GivenBack(request, node.node))
      actor.own_variables.insert(name);
    id = with_.start_run(RunOf(request, node.node), actor);
  } else {
    v1::CreateValidationRequest validation;
    validation.set_bundle_sha256(request.bundle_sha256());
    validation.set_suite(request.suite());
    validation.set_nodes(node.node);
    id = with_.start_validation(validation, actor);
  }
  if (!id.ok() && MayBeTemporary(id.status()))
    return Note(opening, absl::StrCat("waits: ", id.status().message()));
  const bool has_left = !id.ok() && HasLeft(with_, node.node);
  absl::MutexLock lock(&mutex_);
  ActiveRollout* rollout = Find(opening.rollout_id);
  if (rollout == nullptr || rollout->step(opening.node) != opening.step) return;
  NodeMove move;
  move.node = opening.node;
  if (has_left) {
    move.event = NodeEvent::kLeftOut;
    move.message = "it was removed from the cluster";
  } else if (!id.ok()) {
    move.event = is_run ? NodeEvent::kApplyFailed : NodeEvent::kUntested;
    move.message = std::string(id.status().message());
  } else {
    (is_run ? move.run_id : move.validation_id) = *id;
    move.message = absl::StrCat(is_run ? "run " : "validation ", *id);
  }
  // What could not be stored is found again, as after a restart, or begun anew; a second run of the
  // same changes nothing.
  Commit(with_.store, *rollout, {move}, std::nullopt, ControllerActor(), with_.clock.Now())
      .IgnoreError();
}

void RolloutManager::Requeue(const Opening& opening) {
  RolloutRecord record;
  std::string node;
  std::vector<SlurmJob> jobs;
  {
    absl::MutexLock lock(&mutex_);
    const ActiveRollout* rollout = Find(opening.rollout_id);
    if (rollout == nullptr || IsEnding(rollout->state())) return;
    jobs = JobsToRequeue(*rollout, opening.node, seen_);
    record = rollout->record;
    node = rollout->nodes[opening.node].node;
  }
  if (jobs.empty()) return;
  if (const absl::Status may = with_.may_continue(CreatorOf(record).mandate); !may.ok())
    return Note(opening, absl::StrCat("waits: ", may.message()));
  const absl::StatusOr<std::string> done = RequeueJobs(with_, record, node, jobs);
  if (!done.ok() && MayBeTemporary(done.status()))
    return Note(opening, absl::StrCat("waits: ", done.status().message()));
  {
    absl::MutexLock lock(&mutex_);
    ActiveRollout* rollout = Find(opening.rollout_id);
    if (rollout == nullptr) return;
    for (const SlurmJob& job : jobs) rollout->requeued[opening.node].insert(job.id);
  }
  Note(opening, done.ok() ? *done
                          : absl::StrCat("its jobs cannot be requeued, and are waited for: ",
                                         done.status().message()));
}

void RolloutManager::Note(const Opening& opening, absl::string_view message) {
  absl::MutexLock lock(&mutex_);
  ActiveRollout* rollout = Find(opening.rollout_id);
  if (rollout == nullptr) return;
  rollout->retry_at[opening.node] = with_.clock.Now() + kRetryInterval;
  if (rollout->nodes[opening.node].message == message) return;
  NodeMove move;
  move.node = opening.node;
  move.message = std::string(message);
  Commit(with_.store, *rollout, {move}, std::nullopt, ControllerActor(), with_.clock.Now())
      .IgnoreError();
}

}  // namespace muster::controller::rollout
