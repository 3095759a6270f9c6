#include "controller/run/run_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::controller {
namespace {

struct PhaseName {
  NodePhase phase;
  const char* name;
};
constexpr PhaseName kPhaseNames[] = {
    {NodePhase::kWaiting, "waiting"},
    {NodePhase::kRunning, "running"},
    {NodePhase::kDone, "done"},
    {NodePhase::kFailed, "failed"},
    {NodePhase::kUnreachable, "unreachable"},
    {NodePhase::kCancelled, "cancelled"},
    // The word for RunNode.reboot in a row.
    {NodePhase::kRunning, "rebooting"},
};

uint32_t* Counter(RunNode& node, StepOutcome outcome) {
  switch (outcome) {
    case StepOutcome::kOk:
      return &node.ok;
    case StepOutcome::kChanged:
      return &node.changed;
    case StepOutcome::kFailed:
      return &node.failed;
    case StepOutcome::kSkipped:
      return &node.skipped;
  }
  return nullptr;
}

}  // namespace

absl::string_view NodePhaseName(NodePhase phase) {
  for (const PhaseName& row : kPhaseNames) {
    if (row.phase == phase) return row.name;
  }
  return "waiting";
}

NodePhase ParseNodePhase(absl::string_view name) {
  for (const PhaseName& row : kPhaseNames) {
    if (name == row.name) return row.phase;
  }
  return NodePhase::kWaiting;
}

bool IsOut(NodePhase phase) {
  return phase == NodePhase::kFailed || phase == NodePhase::kUnreachable ||
         phase == NodePhase::kCancelled;
}

std::string NodeMessage(absl::string_view text) {
  if (text.size() <= kMaxNodeMessage) return std::string(text);
  size_t end = kMaxNodeMessage;
  // The second and later bytes of a UTF-8 character begin with the bits 10.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "…");
}

void CountStep(RunNode& node, std::optional<StepOutcome> earlier, StepOutcome now) {
  if (earlier.has_value()) {
    if (uint32_t* counter = Counter(node, *earlier); counter != nullptr && *counter > 0) --*counter;
  }
  if (uint32_t* counter = Counter(node, now); counter != nullptr) ++*counter;
}

void ApplyOutcome(RunNode& node, uint32_t play, bool succeeded, bool cancelled,
                  absl::string_view message) {
  if (IsOut(node.phase) || node.play != play || node.phase == NodePhase::kDone) return;
  node.phase = succeeded   ? NodePhase::kDone
               : cancelled ? NodePhase::kCancelled
                           : NodePhase::kFailed;
  node.reboot.reset();
  if (!succeeded && node.message.empty()) node.message = NodeMessage(message);
}

RunState::RunState(std::vector<RunNode> nodes, uint32_t play_count)
    : nodes_(std::move(nodes)), play_count_(play_count) {
  for (size_t i = 0; i < nodes_.size(); ++i) by_name_[nodes_[i].name] = i;
}

bool RunState::IsOpenMember(const RunNode& node) const {
  return node.plays.count(play_) > 0 && !IsOut(node.phase) &&
         !(node.phase == NodePhase::kDone && node.play == play_);
}

const RunNode* RunState::FindByName(absl::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : &nodes_[it->second];
}

const RunNode* RunState::FindByUuid(absl::string_view uuid) const {
  const auto it = by_uuid_.find(std::string(uuid));
  return it == by_uuid_.end() ? nullptr : &nodes_[it->second];
}

RunNode* RunState::Mutable(absl::string_view uuid) {
  return const_cast<RunNode*>(FindByUuid(uuid));
}

absl::Time RunState::Steady(absl::Time now) {
  if (now < last_now_) {
    const absl::Duration back = last_now_ - now;
    set_back_ += back;
    for (RunNode& node : nodes_) {
      if (node.reboot.has_value()) node.reboot->back_by -= back;
    }
  }
  last_now_ = now;
  return now + set_back_;
}

absl::Time RunState::AwayDeadline(const RunNode& node, absl::Time now, absl::Duration grace) {
  const absl::Time deadline = Steady(now) + grace;
  return node.reboot.has_value() ? std::max(deadline, node.reboot->back_by + set_back_) : deadline;
}

RunActions RunState::StartPlay(uint32_t play, const std::map<std::string, NodeLink>& links,
                               bool resumed, absl::Time now) {
  RunActions actions;
  for (play_ = play; play_ < play_count_; ++play_) {
    const auto takes_part = [this](const RunNode& node) {
      return node.plays.count(play_) > 0 && !IsOut(node.phase);
    };
    if (std::any_of(nodes_.begin(), nodes_.end(), takes_part)) break;
  }
  if (play_ >= play_count_ || cancelling_) {
    play_ = std::min(play_, play_count_ == 0 ? 0 : play_count_ - 1);
    stage_ = Stage::kFinished;
    actions.push_back({RunAction::kFinish, "", play_});
    return actions;
  }
  stage_ = Stage::kGathering;
  facts_ = FactsRound();  // not those of the play before
  first_open_ = 0;
  actions.push_back({RunAction::kPlayStarted, "", play_});
  by_uuid_.clear();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    RunNode& node = nodes_[i];
    const auto link = links.find(node.name);
    node.uuid = link == links.end() ? "" : link->second.uuid;
    node.connected = link != links.end() && link->second.connected;
    if (!node.uuid.empty()) by_uuid_[node.uuid] = i;
    if (node.plays.count(play_) == 0 || IsOut(node.phase)) continue;
    if (resumed && node.phase == NodePhase::kDone && node.play == play_) continue;
    node.phase = NodePhase::kWaiting;
    node.play = play_;
    node.plan_ready = node.plan_sent = node.plan_accepted = false;
    node.away_deadline.reset();
    if (!resumed) node.reboot.reset();
    if (!node.connected)
      node.away_deadline = AwayDeadline(node, now, resumed ? kRestartGrace : kPlayConnectGrace);
    changed_.insert(i);
    if (node.uuid.empty()) {
      Leave(
          node, NodePhase::kUnreachable,
          absl::StrCat("not enrolled; join it with `muster node bootstrap --ssh ", node.name, "`"),
          actions);
    }
  }
  actions.push_back({RunAction::kGatherFacts, "", play_});
  return actions;
}

RunActions RunState::FactsAsked(std::set<std::string> uuids, absl::Time now) {
  RunActions actions;
  facts_ = FactsRound();
  facts_.Begin(uuids, Steady(now) + kFactsWait);
  MaybeCompile(actions);
  return actions;
}

RunActions RunState::OnFacts(absl::string_view uuid) {
  RunActions actions;
  if (!facts_.OnAnswered(std::string(uuid))) return actions;
  MaybeCompile(actions);
  return actions;
}

RunActions RunState::OnFactsRefused(absl::string_view uuid, absl::string_view why) {
  RunActions actions;
  if (!facts_.OnAnswered(std::string(uuid))) return actions;
  if (RunNode* node = Mutable(uuid); node != nullptr && IsOpenMember(*node))
    Leave(*node, NodePhase::kFailed, why, actions);
  MaybeCompile(actions);
  return actions;
}

void RunState::MaybeCompile(RunActions& actions) {
  if (stage_ != Stage::kGathering || cancelling_ || !facts_.HaveAll()) return;
  stage_ = Stage::kRunning;
  actions.push_back({RunAction::kCompile, "", play_});
}

std::vector<std::string> RunState::PlayMembers() const {
  std::vector<std::string> names;
  for (const RunNode& node : nodes_) {
    if (node.plays.count(play_) > 0 && node.play == play_) names.push_back(node.name);
  }
  return names;
}

std::vector<std::string> RunState::PlanTargets() const {
  std::vector<std::string> names;
  if (cancelling_) return names;
  for (const RunNode& node : nodes_) {
    if (IsOpenMember(node) && !node.plan_ready) names.push_back(node.name);
  }
  return names;
}

RunActions RunState::Compiled(const std::vector<std::string>& names,
                              const std::map<std::string, absl::Status>& errors,
                              const std::set<std::string>& idle) {
  RunActions actions;
  if (cancelling_) return actions;
  for (const std::string& name : names) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) continue;
    RunNode& node = nodes_[found->second];
    if (!IsOpenMember(node) || node.plan_ready) continue;
    const auto error = errors.find(name);
    if (error != errors.end()) {
      Leave(node, NodePhase::kFailed,
            absl::string_view(error->second.message().data(), error->second.message().size()),
            actions);
      continue;
    }
    if (idle.count(name) > 0) {
      Leave(node, NodePhase::kDone, "", actions);
      continue;
    }
    node.plan_ready = true;
    if (node.connected) Send(node, actions);
  }
  Settle(actions);
  return actions;
}

void RunState::Send(RunNode& node, RunActions& actions) {
  node.phase = NodePhase::kRunning;
  node.plan_sent = true;
  node.receipt_deadline.reset();
  changed_.insert(by_name_.find(node.name)->second);
  actions.push_back({RunAction::kSendPlan, node.name, play_});
}

void RunState::Leave(RunNode& node, NodePhase phase, absl::string_view message,
                     RunActions& actions) {
  node.phase = phase;
  // Not a step's failure, but totals without one would look as if all were well.
  if (phase == NodePhase::kFailed) ++node.failed;
  if (node.message.empty()) node.message = NodeMessage(message);
  node.away_deadline.reset();
  node.reboot.reset();
  changed_.insert(by_name_.find(node.name)->second);
  actions.push_back({RunAction::kNodeFinished, node.name, play_});
}

RunActions RunState::OnConnected(absl::string_view uuid, absl::string_view boot_id, bool has_plan) {
  RunActions actions;
  RunNode* node = Mutable(uuid);
  if (node == nullptr) return actions;
  node->connected = true;
  node->plan_sent = false;
  node->away_deadline.reset();
  if (node->reboot.has_value() && node->reboot->boot_id != boot_id) {
    node->reboot.reset();
    changed_.insert(node - nodes_.data());
  }
  if (node->phase == NodePhase::kUnreachable) node->came_back = true;
  if (stage_ != Stage::kGathering && stage_ != Stage::kRunning) return actions;
  // Sent before the controller was restarted.
  if (has_plan && IsOpenMember(*node)) {
    node->phase = NodePhase::kRunning;
    node->plan_accepted = true;
    changed_.insert(node - nodes_.data());
  }
  if (cancelling_) {
    // Also to one that is out: nobody knew that it had the plan.
    if (has_plan || IsOpenMember(*node))
      actions.push_back({RunAction::kSendCancel, node->name, play_});
  } else if (IsOpenMember(*node) && node->plan_ready) {
    Send(*node, actions);
  }
  return actions;
}

RunActions RunState::OnDisconnected(absl::string_view uuid, absl::Time now) {
  RunActions actions;
  if (RunNode* node = Mutable(uuid); node != nullptr) {
    node->connected = false;
    node->plan_sent = false;
    node->came_back = false;
    if (IsOpenMember(*node)) node->away_deadline = AwayDeadline(*node, now, kReconnectGrace);
  }
  if (facts_.Drop(std::string(uuid))) MaybeCompile(actions);
  return actions;
}

RunActions RunState::OnReceipt(absl::string_view uuid, uint32_t play, bool accepted,
                               absl::string_view reason) {
  RunActions actions;
  RunNode* node = Mutable(uuid);
  if (node == nullptr || play != play_ || !IsOpenMember(*node) || !node->plan_ready) {
    return actions;
  }
  if (accepted) {
    node->plan_accepted = true;
    return actions;
  }
  Leave(*node, NodePhase::kFailed, absl::StrCat("the agent refused the plan: ", reason), actions);
  Settle(actions);
  return actions;
}

void RunState::OnSendFailed(absl::string_view name) {
  const auto it = by_name_.find(std::string(name));
  if (it != by_name_.end()) nodes_[it->second].plan_sent = false;
}

void RunState::SetStepsDigest(absl::string_view name, const std::string& digest) {
  const auto it = by_name_.find(std::string(name));
  if (it == by_name_.end()) return;
  nodes_[it->second].steps_digests[play_] = digest;
  changed_.insert(it->second);
}

RunActions RunState::Replace(const std::vector<RunNode>& nodes) {
  RunActions actions;
  for (const RunNode& node : nodes) {
    RunNode& own = nodes_[by_name_.find(node.name)->second];
    const bool was_open = IsOpenMember(own);
    own = node;
    if (own.phase == NodePhase::kRunning) own.plan_accepted = true;
    if (was_open && !IsOpenMember(own)) {
      own.away_deadline.reset();
      actions.push_back({RunAction::kNodeFinished, own.name, play_});
    }
  }
  Settle(actions);
  return actions;
}

RunActions RunState::Cancel() {
  RunActions actions;
  if (cancelling_ || stage_ == Stage::kFinished) return actions;
  cancelling_ = true;
  for (RunNode& node : nodes_) {
    const bool open = IsOpenMember(node);
    const bool later = !open && node.phase == NodePhase::kWaiting;
    if (!open && !later) continue;
    // Whatever is known of it: an agent without the plan ignores that.
    if (open && node.connected) actions.push_back({RunAction::kSendCancel, node.name, play_});
    // The node that holds the plan tells us where it stopped; nobody else will.
    if (!open || node.phase != NodePhase::kRunning || !node.plan_accepted) {
      Leave(node, NodePhase::kCancelled, "cancelled", actions);
    }
  }
  Settle(actions);
  return actions;
}

RunActions RunState::Tick(absl::Time now) {
  RunActions actions;
  if (stage_ != Stage::kGathering && stage_ != Stage::kRunning) return actions;
  const absl::Time steady = Steady(now);
  if (cancelling_ && !cancel_deadline_.has_value()) cancel_deadline_ = steady + kCancelWait;
  for (RunNode& node : nodes_) {
    if (!IsOpenMember(node)) continue;
    if (node.away_deadline.has_value() && steady >= *node.away_deadline) {
      Leave(node, NodePhase::kUnreachable,
            node.reboot.has_value()
                ? absl::StrCat("not back from the reboot of step '", node.reboot->step_id,
                               "' in time; check the console. When the node is back, it continues "
                               "after that step and is caught up with")
            : node.phase == NodePhase::kRunning
                ? "lost during the play; its results arrive when it is back"
                : "not connected; check the agent: `systemctl status muster-agent` on the node",
            actions);
    } else if (cancel_deadline_.has_value() && steady >= *cancel_deadline_) {
      Leave(node, NodePhase::kCancelled,
            absl::StrCat("was asked to stop and did not confirm within ",
                         absl::FormatDuration(kCancelWait),
                         "; check the agent: `systemctl status muster-agent` on the node. Its "
                         "remaining results arrive when it has finished"),
            actions);
    } else if (stage_ == Stage::kRunning && !cancelling_ && node.connected && node.plan_ready &&
               !node.plan_sent) {
      Send(node, actions);
    } else if (node.connected && node.plan_sent && !node.plan_accepted) {
      if (!node.receipt_deadline.has_value()) node.receipt_deadline = steady + kReceiptWait;
      if (steady < *node.receipt_deadline) continue;
      Leave(node, NodePhase::kFailed,
            "the agent is connected but does not answer; restart it: `systemctl restart "
            "muster-agent` on the node",
            actions);
    }
  }
  if (stage_ == Stage::kGathering && facts_.IsOver(steady)) {
    facts_ = FactsRound();  // the others keep the facts that are known
    MaybeCompile(actions);
  }
  Settle(actions);
  return actions;
}

void RunState::Settle(RunActions& actions) {
  if (stage_ != Stage::kGathering && stage_ != Stage::kRunning) return;
  while (first_open_ < nodes_.size() && !IsOpenMember(nodes_[first_open_])) ++first_open_;
  if (first_open_ < nodes_.size()) return;
  if (cancelling_ || play_ + 1 >= play_count_) {
    stage_ = Stage::kFinished;
    actions.push_back({RunAction::kFinish, "", play_});
  } else {
    stage_ = Stage::kBetween;
    actions.push_back({RunAction::kNextPlay, "", play_ + 1});
  }
}

std::vector<const RunNode*> RunState::TakeChanged() {
  std::vector<const RunNode*> nodes;
  for (const size_t i : changed_) nodes.push_back(&nodes_[i]);
  changed_.clear();
  return nodes;
}

void RunState::MarkChanged(const std::vector<const RunNode*>& nodes) {
  for (const RunNode* node : nodes) changed_.insert(node - nodes_.data());
}

}  // namespace muster::controller
