// ValidationState: queries.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checks/scaling.h"
#include "controller/validation/schedule/validation_state.h"

namespace muster::controller::validation {
namespace {

size_t PairsOf(size_t nodes, size_t rounds) {
  const size_t full = FullRounds(nodes);
  return (rounds == 0 ? full : std::min(rounds, full)) * (nodes / 2);
}

}  // namespace

absl::string_view CheckPart::Partner() const {
  if (members == nullptr || members->size() != 2) return "";
  return (*members)[1 - rank];
}

std::string ValidationState::CheckSize(const Suite& suite, size_t nodes, size_t max_rounds) {
  size_t pairs = 0;
  for (const SuiteStage& stage : suite.stages) {
    for (const SuiteCheck& check : stage.checks) {
      if (check.spec->scope == checks::Scope::kGroup && nodes > checks::kMaxRanks) {
        return absl::StrCat("suite '", suite.name, "' has ", std::string(check.spec->name),
                            " of all ", nodes, " nodes at once, which can be ", checks::kMaxRanks,
                            " at most: validate fewer nodes at a time, or use a suite without it");
      }
      if (check.spec->scope != checks::Scope::kPair) continue;
      size_t rounds = check.max_rounds;
      if (max_rounds > 0) rounds = rounds == 0 ? max_rounds : std::min(rounds, max_rounds);
      pairs += PairsOf(nodes, rounds);
    }
  }
  if (pairs <= kMaxPairs) return "";
  return absl::StrCat("suite '", suite.name, "' has ", pairs, " pairs of ", nodes,
                      " nodes, at most ", kMaxPairs,
                      " are tested in one validation: limit max_rounds, or choose fewer nodes");
}

const CheckPart* ValidationState::Find(absl::string_view check_id) const {
  const auto found = parts_.find(std::string(check_id));
  return found == parts_.end() ? nullptr : &found->second.info;
}

const SuiteCheck& ValidationState::CheckAt(const Execution& execution) const {
  return suite_.stages[execution.stage].checks[execution.check];
}

const SuiteCheck& ValidationState::CheckOf(const CheckPart& part) const {
  return suite_.stages[part.stage].checks[part.check];
}

const SuiteStage& ValidationState::StageOf(const CheckPart& part) const {
  return suite_.stages[part.stage];
}

std::vector<PowerBudget::Member> ValidationState::PowerOf(const Execution& execution) const {
  std::vector<PowerBudget::Member> members;
  for (const Part* part : execution.parts) {
    if (part->info.phase == PartPhase::kEnded) continue;
    members.push_back({part->info.node, CheckAt(execution).spec->load});
  }
  return members;
}

bool ValidationState::HasLoad(const std::string& rack, bool with_stopping) const {
  if (budget_.HasLoad(rack, with_stopping)) return true;
  return with_stopping && std::any_of(lingering_.begin(), lingering_.end(), [&](const Part* part) {
           return nodes_[part->node].rack == rack &&
                  CheckAt(*part->execution).spec->load != checks::Load::kIdle;
         });
}

std::vector<PeerEndpoint> ValidationState::PeersOf(const CheckPart& part) const {
  std::vector<PeerEndpoint> peers;
  const auto found = executions_.find(part.execution_id);
  if (found == executions_.end()) return peers;
  for (const Part* one : found->second.parts) peers.push_back(one->endpoint);
  return peers;
}

std::vector<const CheckPart*> ValidationState::Running() const {
  std::vector<const CheckPart*> running;
  for (const NodeState& state : node_states_) {
    for (const Part* part : state.active) {
      if (part->info.phase == PartPhase::kStarted) running.push_back(&part->info);
    }
  }
  return running;
}

std::vector<const CheckPart*> ValidationState::TakeChanged() {
  std::vector<const CheckPart*> changed;
  for (const Part* part : std::exchange(changed_, {})) changed.push_back(&part->info);
  return changed;
}

void ValidationState::MarkChanged(const std::vector<const CheckPart*>& parts) {
  for (const CheckPart* part : parts) {
    const auto found = parts_.find(part->check_id);
    if (found != parts_.end()) changed_.insert(&found->second);
  }
}

}  // namespace muster::controller::validation
