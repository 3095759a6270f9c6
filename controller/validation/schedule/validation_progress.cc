// ValidationState: chooses the next check.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/validation/schedule/validation_state.h"
#include "controller/validation/schedule/witness.h"

namespace muster::controller::validation {
namespace {

// The round of a node that does not take part in a check.
constexpr char kNoRound[] = "x";

// Equal numbers for equal words.
class Numbers {
 public:
  uint32_t Of(const std::string& word) {
    return numbers_.emplace(word, static_cast<uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, uint32_t> numbers_;
};

}  // namespace

std::vector<ValidationState::Track> ValidationState::TracksOf(const SuiteStage& stage) const {
  const size_t count = stage.checks.size();
  if (!stage.side_by_side) return {{0, count}};
  std::vector<Track> tracks;
  for (size_t i = 0; i < count; ++i) tracks.push_back({i, i + 1});
  return tracks;
}

size_t ValidationState::TrackOf(const Execution& execution) const {
  return suite_.stages[execution.stage].side_by_side ? execution.check : 0;
}

bool ValidationState::IsOut(size_t node, size_t stage) const {
  const std::optional<size_t>& failed = node_states_[node].failed_stage;
  return failed.has_value() && *failed < stage;
}

bool ValidationState::Applies(const SuiteCheck& check, size_t node) const {
  return HasWhatItTakes(check, nodes_[node]);
}

// A node reaches its stage. It enters when it need not wait for the others.
void ValidationState::EnterStage(size_t node) {
  NodeState& state = node_states_[node];
  const size_t stage = state.stage;
  ++arrived_[stage];
  if (stage == suite_.stages.size()) {
    ++nodes_through_;
    return;
  }
  if (suite_.stages[stage].IsShared()) {
    if (arrived_[stage] == nodes_.size()) EnterSharedStage();
    return;
  }
  if (nodes_[node].is_witness) return LeaveStage(node);
  state.tracks = TracksOf(suite_.stages[stage]);
  for (size_t track = 0; track < state.tracks.size(); ++track) StepNode(node, track);
}

void ValidationState::LeaveStage(size_t node) {
  ++node_states_[node].stage;
  EnterStage(node);
}

void ValidationState::StepNode(size_t node, size_t track_index) {
  NodeState& state = node_states_[node];
  const size_t stage = state.stage;
  const Track& track = state.tracks[track_index];
  if (track.check < track.end) {
    const size_t check = track.check;
    if (IsOut(node, stage) || !Applies(suite_.stages[stage].checks[check], node)) {
      AddSolo(stage, check, node);
    } else {
      AddExecution(stage, check, "0", {node});
    }
    return;
  }
  if (std::all_of(state.tracks.begin(), state.tracks.end(),
                  [](const Track& one) { return one.check >= one.end; })) {
    LeaveStage(node);
  }
}

// All nodes have reached the stage.
void ValidationState::EnterSharedStage() {
  shared_tracks_ = TracksOf(suite_.stages[node_states_[0].stage]);
  lanes_.assign(shared_tracks_.size(), {});
  // The last of them may lead into the next stage, which has other tracks.
  const size_t tracks = shared_tracks_.size();
  for (size_t track = 0; track < tracks; ++track) StepLane(track);
}

void ValidationState::StepLane(size_t track_index) {
  const Track& track = shared_tracks_[track_index];
  if (track.check >= track.end) {
    if (std::all_of(shared_tracks_.begin(), shared_tracks_.end(),
                    [](const Track& one) { return one.check >= one.end; })) {
      // The last node to arrive at a shared stage enters it for all: all must have moved before
      // that.
      const size_t next = node_states_[0].stage + 1;
      for (NodeState& state : node_states_) state.stage = next;
      for (size_t node = 0; node < nodes_.size(); ++node) EnterStage(node);
    }
    return;
  }
  const size_t stage = node_states_[0].stage;
  const SuiteCheck& check = suite_.stages[stage].checks[track.check];
  Lane& lane = lanes_[track_index];
  lane = {};
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].is_witness) continue;
    if (!IsOut(node, stage) && Applies(check, node)) {
      lane.members.push_back(node);
    } else {
      AddSolo(stage, track.check, node);
      ++lane.open;
    }
  }
  AddWitness(check, lane.members);
  if (check.spec->scope != checks::Scope::kNode && lane.members.size() == 1) {
    AddSolo(stage, track.check, lane.members[0]);
    ++lane.open;
    lane.members.clear();
  }
  switch (check.spec->scope) {
    case checks::Scope::kNode:
      for (const size_t node : lane.members) {
        AddExecution(stage, track.check, "0", {node});
        ++lane.open;
      }
      break;
    case checks::Scope::kGroup:
      if (lane.members.empty()) break;
      AddExecution(stage, track.check, "0", lane.members);
      ++lane.open;
      break;
    case checks::Scope::kPair: {
      Numbers switches, racks;
      std::vector<PairPlace> places;
      for (const size_t node : lane.members) {
        places.push_back({switches.Of(nodes_[node].switch_name), racks.Of(nodes_[node].rack)});
      }
      size_t rounds = check.max_rounds;
      if (max_rounds_ > 0) rounds = rounds == 0 ? max_rounds_ : std::min(rounds, max_rounds_);
      lane.rounds = SchedulePairs(places, rounds);
      // The first round, together with nodes that do not take part.
      if (!lane.rounds.empty()) StartRound(track_index);
      break;
    }
  }
  if (lane.open == 0) {
    ++shared_tracks_[track_index].check;
    StepLane(track_index);
  }
}

// Depends on nothing that changes during a validation, except on earlier failures: after a restart
// the members are the same again.
void ValidationState::AddWitness(const SuiteCheck& check, std::vector<size_t>& members) const {
  if (check.spec->scope == checks::Scope::kNode) return;
  const auto is_enrolled = [&](size_t node) { return !nodes_[node].uuid.empty(); };
  if (std::count_if(members.begin(), members.end(), is_enrolled) != 1) return;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (!nodes_[node].is_witness || !Applies(check, node)) continue;
    members.push_back(node);
    return;
  }
}

void ValidationState::StartRound(size_t track_index) {
  Lane& lane = lanes_[track_index];
  for (const NodePair& pair : lane.rounds[lane.round]) {
    AddExecution(node_states_[0].stage, shared_tracks_[track_index].check, absl::StrCat(lane.round),
                 {lane.members[pair.first], lane.members[pair.second]});
    ++lane.open;
  }
}

void ValidationState::OnExecutionEnded(Execution& execution) {
  const size_t track = TrackOf(execution);
  if (!suite_.stages[execution.stage].IsShared()) {
    const size_t node = execution.parts[0]->node;
    ++node_states_[node].tracks[track].check;
    StepNode(node, track);
    return;
  }
  Lane& lane = lanes_[track];
  if (--lane.open > 0) return;
  if (lane.round + 1 < lane.rounds.size()) {
    ++lane.round;
    StartRound(track);
    return;
  }
  ++shared_tracks_[track].check;
  StepLane(track);
}

// A verdict for a node that does not take part in a check.
void ValidationState::AddSolo(size_t stage, size_t check, size_t node) {
  Execution& execution = MakeExecution(stage, check, kNoRound, 0, {node});
  if (execution.open == 0) {  // decided before a restart
    ended_.push_back(&execution);
    return;
  }
  const SuiteCheck& wanted = suite_.stages[stage].checks[check];
  if (IsOut(node, stage)) {
    EndPart(*execution.parts[0], PartOutcome::kUnknown,
            absl::StrCat("not run: the node failed in stage '",
                         suite_.stages[*node_states_[node].failed_stage].name, "'"));
  } else if (!Applies(wanted, node)) {
    std::vector<std::string> missing;
    for (const Condition condition : wanted.when) {
      if (!nodes_[node].traits.Has(condition)) {
        missing.emplace_back(MissingName(condition));
      }
    }
    const bool is_container = missing == std::vector<std::string>{"machine"};
    EndPart(*execution.parts[0], PartOutcome::kSkipped,
            is_container ? "the node is a container without processors and memory of its own"
                         : absl::StrCat("the node has no ", absl::StrJoin(missing, ", "),
                                        ", and the inventory expects none"));
  } else {
    EndAlone(*execution.parts[0], wanted);
  }
}

// Ends a check between nodes that has no second node. In a suite that admits to service its outcome
// is unknown, because what others would have measured is not known.
void ValidationState::EndAlone(Part& part, const SuiteCheck& check) {
  const PartOutcome outcome = suite_.admits ? PartOutcome::kUnknown : PartOutcome::kSkipped;
  size_t able = 0;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    able += !nodes_[node].is_witness && Applies(check, node);
  }
  if (able > 1) {
    EndPart(part, outcome,
            "not measured: the nodes validated together with it failed before; validate it again");
  } else if (check.has_others) {
    EndPart(part, outcome,
            absl::StrCat("no idle node to measure it with; validate it again when a node is idle, "
                         "or together with another node: muster validate ",
                         part.info.node, ",ANOTHER --suite ", suite_.name));
  } else {
    EndPart(part, PartOutcome::kSkipped, "there is no other node to measure it with");
  }
}

void ValidationState::AddExecution(size_t stage, size_t check, absl::string_view round,
                                   const std::vector<size_t>& members) {
  std::vector<size_t> taking_part = members;
  for (uint32_t attempt = 0;; ++attempt) {
    Execution& execution = MakeExecution(stage, check, round, attempt, taking_part);
    const bool put_back = std::all_of(execution.parts.begin(), execution.parts.end(),
                                      [](const Part* part) { return part->info.put_back; });
    if (put_back && execution.open == 0) {  // the next attempt began before a restart
      taking_part = MembersOf(execution);
      continue;
    }
    (execution.open == 0 ? ended_ : ready_).push_back(&execution);
    return;
  }
}

ValidationState::Execution& ValidationState::MakeExecution(size_t stage, size_t check,
                                                           absl::string_view round,
                                                           uint32_t attempt,
                                                           const std::vector<size_t>& members) {
  std::string id = absl::StrCat(validation_id_, "/", stage, ".", check, ".", round, ".", attempt);
  // All pairs of a round share one number; the first node of a pair tells it apart from the others.
  absl::StrAppend(&id, "/", nodes_[members[0]].name);
  const std::string prefix = id.substr(0, id.rfind('/') + 1);
  Execution& execution = executions_[id];
  execution.id = std::move(id);
  execution.stage = stage;
  execution.check = check;
  execution.round = std::string(round);
  execution.attempt = attempt;
  auto names = std::make_shared<std::vector<std::string>>();
  for (const size_t member : members) names->push_back(nodes_[member].name);
  for (uint32_t rank = 0; rank < members.size(); ++rank) {
    const std::string check_id = absl::StrCat(prefix, (*names)[rank]);
    Part& part = parts_[check_id];
    const auto stored = stored_.find(check_id);
    if (stored != stored_.end()) {
      part.info = std::move(stored->second);
      stored_.erase(stored);
      part.known = true;
    }
    part.info.check_id = check_id;
    part.info.execution_id = execution.id;
    part.info.node = (*names)[rank];
    part.info.members = names;
    part.info.rank = rank;
    part.info.stage = stage;
    part.info.check = check;
    part.execution = &execution;
    part.node = members[rank];
    execution.parts.push_back(&part);
    if (part.info.phase == PartPhase::kEnded) {
      if (part.info.outcome == PartOutcome::kFail && suite_.stages[stage].stop_on_fail &&
          suite_.stages[stage].checks[check].spec->scope == checks::Scope::kNode &&
          !node_states_[part.node].failed_stage.has_value()) {
        node_states_[part.node].failed_stage = stage;
      }
      continue;
    }
    node_states_[part.node].active.insert(&part);
    ++execution.open;
    if (part.info.phase != PartPhase::kStarted) continue;
    execution.started = true;
    SetDeadline(part, part.info.started_at + CheckAt(execution).time_limit + kReportGrace);
  }
  // A group that went on before a restart without some of its members does so after it.
  const auto began = [](const Part* part) { return part->info.started_at != absl::InfinitePast(); };
  if (std::any_of(execution.parts.begin(), execution.parts.end(), began)) {
    LeaveOutAbsent(execution);
  }
  if (execution.started) budget_.Resume(execution.id, PowerOf(execution));
  return execution;
}

std::vector<size_t> ValidationState::MembersOf(const Execution& execution) {
  std::vector<size_t> members;
  for (const Part* part : execution.parts) members.push_back(part->node);
  return members;
}

}  // namespace muster::controller::validation
