#include "controller/validation/schedule/validation_state.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::controller::validation {
namespace {

constexpr char kNotConnected[] =
    "not connected; check the agent: `systemctl status muster-agent` on the node";
constexpr char kForgotten[] =
    "the node's agent came back without this check: the node or the agent restarted while it ran; "
    "check the journal of the previous boot (`journalctl -b -1`) and the power supply";

}  // namespace

ValidationState::ValidationState(std::string validation_id, Suite suite,
                                 std::vector<ValidationNode> nodes, size_t max_rounds,
                                 std::vector<RackPower> racks, std::vector<CheckPart> stored)
    : validation_id_(std::move(validation_id)),
      suite_(std::move(suite)),
      nodes_(std::move(nodes)),
      max_rounds_(max_rounds),
      budget_(std::move(racks)),
      restored_(!stored.empty()),
      node_states_(nodes_.size()),
      arrived_(suite_.stages.size() + 1, 0) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    by_name_[nodes_[i].name] = i;
    if (!nodes_[i].uuid.empty()) by_uuid_[nodes_[i].uuid] = i;
    budget_.AddNode(nodes_[i].name, nodes_[i].rack, nodes_[i].power);
  }
  for (CheckPart& part : stored) {
    std::string id = part.check_id;
    stored_[std::move(id)] = std::move(part);
  }
}

ValidationActions ValidationState::Begin(const std::set<std::string>& connected, absl::Time now,
                                         PowerBudget::OthersLoad others_load) {
  budget_.SetOthersLoad(std::move(others_load));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    NodeState& state = node_states_[i];
    state.connected = connected.count(nodes_[i].uuid) > 0;
    if (!state.connected)
      state.away_deadline = now + (restored_ ? kRestartGrace : kCheckConnectGrace);
    if (nodes_[i].uuid.empty()) state.away = true;
  }
  for (size_t i = 0; i < nodes_.size(); ++i) EnterStage(i);
  for (NodeState& state : node_states_) {
    if (!state.connected && Runs(state)) state.away_deadline = now + kLostGrace;
  }
  return Settle(now);
}

bool ValidationState::Runs(const NodeState& state) {
  return std::any_of(state.active.begin(), state.active.end(),
                     [](const Part* part) { return part->info.phase == PartPhase::kStarted; });
}

ValidationActions ValidationState::OnConnected(absl::string_view uuid,
                                               const std::set<std::string>& check_ids,
                                               absl::Time now) {
  const auto found = by_uuid_.find(std::string(uuid));
  if (found == by_uuid_.end() || finished_) return {};
  NodeState& state = node_states_[found->second];
  state.connected = true;
  state.away = false;
  state.away_deadline.reset();
  const std::vector<Part*> active(state.active.begin(), state.active.end());
  for (Part* part : active) {
    if (part->info.phase != PartPhase::kStarted) continue;
    // Its report on the time without the connection is on its way.
    SetDeadline(*part, std::max(part->deadline, now + kReportGrace));
    if (check_ids.count(part->info.check_id) > 0) {
      part->known = true;
      // It may have been told about its peers just when it was lost; telling it twice does no harm.
      if (part->execution->met) Act(ValidationAction::kConnectPeers, *part);
    } else if (part->known) {
      EndPart(*part, PartOutcome::kUnknown, kForgotten);
    } else {
      // It begins now, with its full time.
      part->info.started_at = now;
      changed_.insert(part);
      SetDeadline(*part, now + CheckAt(*part->execution).time_limit + kReportGrace);
      Act(ValidationAction::kStartCheck, *part);
    }
  }
  for (auto part = lingering_.begin(); part != lingering_.end();) {
    const bool is_over =
        (*part)->node == found->second && check_ids.count((*part)->info.check_id) == 0;
    part = is_over ? lingering_.erase(part) : std::next(part);
  }
  for (Execution* execution : std::exchange(state.parked, {})) ready_.push_back(execution);
  return Settle(now);
}

ValidationActions ValidationState::OnDisconnected(absl::string_view uuid, absl::Time now) {
  const auto found = by_uuid_.find(std::string(uuid));
  if (found == by_uuid_.end() || finished_) return {};
  NodeState& state = node_states_[found->second];
  state.connected = false;
  state.away_deadline = now + (Runs(state) ? kLostGrace : kRestartGrace);
  // A node that cannot report is late only once it is back.
  for (Part* part : state.active) deadlines_.erase({part->deadline, part});
  // Nobody knows how long to wait for it.
  for (auto part = lingering_.begin(); part != lingering_.end();) {
    part = (*part)->node == found->second ? lingering_.erase(part) : std::next(part);
  }
  return Settle(now);
}

ValidationActions ValidationState::OnUpdate(absl::string_view check_id,
                                            const std::optional<PeerEndpoint>& listening,
                                            absl::Time now) {
  Part* const part = FindPart(check_id);
  if (part == nullptr || part->info.phase != PartPhase::kStarted) return {};
  part->known = true;
  if (!listening.has_value()) return {};
  part->endpoint = *listening;
  part->listening = true;
  Execution& execution = *part->execution;
  const auto ready = [](const Part* one) { return one->listening; };
  if (execution.met || execution.open != execution.parts.size() ||
      !std::all_of(execution.parts.begin(), execution.parts.end(), ready)) {
    return {};
  }
  execution.met = true;
  for (const Part* one : execution.parts) Act(ValidationAction::kConnectPeers, *one);
  return Settle(now);
}

ValidationActions ValidationState::OnReport(absl::string_view check_id, PartOutcome outcome,
                                            absl::Time now) {
  Part* const part = FindPart(check_id);
  if (part != nullptr && lingering_.erase(part) > 0) return Settle(now);
  if (part == nullptr || part->info.phase != PartPhase::kStarted) return {};
  Execution& execution = *part->execution;
  if (part->info.saves_power && outcome == PartOutcome::kUnknown &&
      execution.attempt + 1 < kMaxAttempts) {
    part->info.put_back = true;
  }
  EndPart(*part, outcome, "");
  return Settle(now);
}

ValidationActions ValidationState::OnSendFailed(absl::string_view check_id, absl::Time now) {
  Part* const part = FindPart(check_id);
  if (part != nullptr && part->info.phase == PartPhase::kStarted) unsent_.insert(part);
  return {};
}

ValidationActions ValidationState::OnPower(absl::string_view node, double watts, absl::Time now) {
  if (finished_) return {};
  for (const std::string& id : budget_.Measured(node, watts)) {
    const auto found = executions_.find(id);
    if (found == executions_.end() || found->second.stopping) continue;
    for (Part* part : found->second.parts) {
      part->info.saves_power = true;
      changed_.insert(part);
    }
    Stop(found->second, absl::StrCat("rack ", nodes_[found->second.parts[0]->node].rack,
                                     " draws more than predicted: ", node, " ",
                                     static_cast<int64_t>(watts), " W"));
  }
  return Settle(now);
}

ValidationActions ValidationState::Cancel(absl::string_view reason, absl::Time now) {
  if (finished_ || cancelled_) return {};
  cancelled_ = true;
  linger_until_ = now + kStopGrace;
  for (NodeState& state : node_states_) {
    const std::vector<Part*> active(state.active.begin(), state.active.end());
    for (Part* part : active) {
      part->execution->stopping = true;  // nothing is stopped twice
      if (part->info.phase == PartPhase::kStarted) {
        Act(ValidationAction::kStopCheck, *part, reason);
        if (state.connected) lingering_.insert(part);
      }
      EndPart(*part, PartOutcome::kUnknown, reason);
    }
  }
  return Settle(now);
}

ValidationActions ValidationState::Tick(absl::Time now) {
  if (finished_) return {};
  if (now >= linger_until_) lingering_.clear();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    NodeState& state = node_states_[i];
    if (!state.connected && !state.away && state.away_deadline.has_value() &&
        now >= *state.away_deadline) {
      GiveUp(i);
    }
  }
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Part& part = *deadlines_.begin()->second;
    Act(ValidationAction::kStopCheck, part, "exceeded its time limit");
    EndPart(part, PartOutcome::kUnknown,
            absl::StrCat(
                "no report within its time limit of ",
                absl::FormatDuration(CheckAt(*part.execution).time_limit + kReportGrace),
                "; the agent or its worker hangs: check `journalctl -u muster-agent` on the node"));
  }
  for (Part* part : std::exchange(unsent_, {})) {
    if (part->info.phase != PartPhase::kStarted) continue;
    if (!node_states_[part->node].connected) continue;  // once it is back
    Act(ValidationAction::kStartCheck, *part);
    if (part->execution->met) Act(ValidationAction::kConnectPeers, *part);
  }
  for (auto& [rack, waiting] : std::exchange(powerless_, {})) {
    ready_.insert(ready_.end(), waiting.begin(), waiting.end());
  }
  return Settle(now);
}

// Handles all consequences of the events, until there are no more.
ValidationActions ValidationState::Settle(absl::Time now) {
  while (!finished_) {
    if (!ended_.empty()) {
      Execution& execution = *ended_.front();
      ended_.pop_front();
      EndExecution(execution);
    } else if (!ready_.empty() && !cancelled_) {
      Execution& execution = *ready_.front();
      ready_.pop_front();
      TryStart(execution, now);
    } else {
      break;
    }
  }
  if (!finished_ && (cancelled_ ? lingering_.empty() : nodes_through_ == nodes_.size())) {
    finished_ = true;
    actions_.push_back({ValidationAction::kFinish, "", "", ""});
  }
  return std::exchange(actions_, {});
}

void ValidationState::TryStart(Execution& execution, absl::Time now) {
  if (execution.open == 0 || execution.started) return;  // given up, or running since a restart
  const bool group = CheckAt(execution).spec->scope == checks::Scope::kGroup;
  std::vector<std::string> away;
  for (const Part* part : execution.parts) {
    if (node_states_[part->node].away) away.push_back(part->info.node);
  }
  if (!away.empty()) {
    // A group of two or more continues without them; in a pair, the other side has no partner left.
    const bool go_on = group && away.size() + 1 < execution.parts.size();
    for (Part* part : execution.parts) {
      if (part->info.phase == PartPhase::kEnded) continue;
      if (node_states_[part->node].away) {
        EndPart(*part, PartOutcome::kUnknown,
                nodes_[part->node].uuid.empty()
                    ? absl::StrCat("not enrolled; join it with `muster node bootstrap --ssh ",
                                   part->info.node, "`")
                    : std::string(kNotConnected));
      } else if (!go_on) {
        EndPart(*part, PartOutcome::kUnknown,
                absl::StrCat("its partner ", absl::StrJoin(away, ", "), " is not connected"));
      }
    }
    if (execution.open == 0) return;
  }
  for (const Part* part : execution.parts) {
    NodeState& state = node_states_[part->node];
    if (part->info.phase == PartPhase::kEnded || state.connected) continue;
    state.parked.push_back(&execution);
    return;
  }
  const std::vector<PowerBudget::Member> power = PowerOf(execution);
  if (const std::string never = budget_.WhyNever(power); !never.empty()) {
    const std::vector<Part*> parts = execution.parts;
    for (Part* part : parts) EndPart(*part, PartOutcome::kUnknown, never);
    return;
  }
  if (!budget_.TryStart(execution.id, power, now)) {
    powerless_[nodes_[execution.parts[0]->node].rack].push_back(&execution);
    return;
  }
  Start(execution, now);
}

void ValidationState::Start(Execution& execution, absl::Time now) {
  execution.started = true;
  const absl::Time deadline = now + CheckAt(execution).time_limit + kReportGrace;
  LeaveOutAbsent(execution);
  for (Part* part : execution.parts) {
    part->info.phase = PartPhase::kStarted;
    part->info.started_at = now;
    SetDeadline(*part, deadline);
    changed_.insert(part);
    Act(ValidationAction::kStartCheck, *part);
  }
}

// Members that a group continues without have ended before they began.
void ValidationState::LeaveOutAbsent(Execution& execution) {
  const auto is_absent = [](const Part* part) {
    return part->info.phase == PartPhase::kEnded && part->info.started_at == absl::InfinitePast();
  };
  execution.parts.erase(std::remove_if(execution.parts.begin(), execution.parts.end(), is_absent),
                        execution.parts.end());
  auto members = std::make_shared<std::vector<std::string>>();
  for (Part* part : execution.parts) {
    part->info.rank = static_cast<uint32_t>(members->size());
    part->info.members = members;
    members->push_back(part->info.node);
  }
}

void ValidationState::SetDeadline(Part& part, absl::Time deadline) {
  deadlines_.erase({part.deadline, &part});
  part.deadline = deadline;
  if (node_states_[part.node].connected) deadlines_.emplace(deadline, &part);
}

void ValidationState::EndPart(Part& part, PartOutcome outcome, absl::string_view reason) {
  if (part.info.phase == PartPhase::kEnded) return;
  Execution& execution = *part.execution;
  const bool was_running = part.info.phase == PartPhase::kStarted;
  part.info.phase = PartPhase::kEnded;
  part.info.outcome = outcome;
  part.info.reason = std::string(reason);
  deadlines_.erase({part.deadline, &part});
  unsent_.erase(&part);
  node_states_[part.node].active.erase(&part);
  changed_.insert(&part);
  if (!part.info.put_back) Act(ValidationAction::kVerdict, part, reason);
  const SuiteStage& stage = suite_.stages[execution.stage];
  // The cause of a bad pair is known only when all have reported.
  if (outcome == PartOutcome::kFail && stage.stop_on_fail &&
      CheckAt(execution).spec->scope == checks::Scope::kNode &&
      !node_states_[part.node].failed_stage.has_value()) {
    node_states_[part.node].failed_stage = execution.stage;
  }
  if (--execution.open == 0) {
    ended_.push_back(&execution);
  } else if (was_running && outcome == PartOutcome::kUnknown) {
    Stop(execution, absl::StrCat("its partner ", part.info.node, " was lost"));
  }
}

// Tells all running parts to stop; their reports end them.
void ValidationState::Stop(Execution& execution, absl::string_view reason) {
  if (std::exchange(execution.stopping, true)) return;
  for (const Part* part : execution.parts) {
    if (part->info.phase == PartPhase::kStarted) {
      Act(ValidationAction::kStopCheck, *part, reason);
    }
  }
}

void ValidationState::EndExecution(Execution& execution) {
  budget_.Finish(execution.id);
  for (const Part* part : execution.parts) {
    const auto waiting = powerless_.find(nodes_[part->node].rack);
    if (waiting == powerless_.end()) continue;
    ready_.insert(ready_.end(), waiting->second.begin(), waiting->second.end());
    powerless_.erase(waiting);
  }
  const auto put_back = [](const Part* part) { return part->info.put_back; };
  if (!cancelled_ && !execution.parts.empty() &&
      std::all_of(execution.parts.begin(), execution.parts.end(), put_back)) {
    ready_.push_back(&MakeExecution(execution.stage, execution.check, execution.round,
                                    execution.attempt + 1, MembersOf(execution)));
    return;
  }
  for (Part* part : execution.parts) {
    if (!part->info.put_back) continue;
    part->info.put_back = false;
    changed_.insert(part);
    Act(ValidationAction::kVerdict, *part);
  }
  if (!cancelled_) OnExecutionEnded(execution);
}

void ValidationState::GiveUp(size_t node) {
  NodeState& state = node_states_[node];
  state.away = true;
  const std::vector<Part*> active(state.active.begin(), state.active.end());
  for (Part* part : active) {
    if (part->info.phase == PartPhase::kStarted) {
      EndPart(*part, PartOutcome::kUnknown,
              absl::StrCat("lost while it ran, and not back: check the node's console, its power "
                           "supply and `systemctl status muster-agent`"));
    }
  }
  for (Execution* execution : std::exchange(state.parked, {})) ready_.push_back(execution);
}

void ValidationState::Act(ValidationAction::Kind kind, const Part& part, absl::string_view reason) {
  actions_.push_back({kind, part.info.check_id, part.info.node, std::string(reason)});
}

ValidationState::Part* ValidationState::FindPart(absl::string_view check_id) {
  const auto found = parts_.find(std::string(check_id));
  return found == parts_.end() || finished_ ? nullptr : &found->second;
}

}  // namespace muster::controller::validation
