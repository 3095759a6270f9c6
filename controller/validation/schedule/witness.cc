#include "controller/validation/schedule/witness.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace muster::controller::validation {
namespace {

// The only node that can take part; nullptr: none can, or several.
const ValidationNode* LoneNode(const SuiteCheck& check, const std::vector<ValidationNode>& tested) {
  if (check.spec->scope == checks::Scope::kNode) return nullptr;
  const ValidationNode* lone = nullptr;
  for (const ValidationNode& node : tested) {
    if (node.uuid.empty() || !HasWhatItTakes(check, node)) continue;
    if (lone != nullptr) return nullptr;
    lone = &node;
  }
  return lone;
}

struct Candidate {
  const ValidationNode* node;
  size_t checks;
  bool same_switch;
  bool same_rack;
};

bool IsBetter(const Candidate& a, const Candidate& b) {
  return std::tie(a.checks, a.same_switch, a.same_rack) >
         std::tie(b.checks, b.same_switch, b.same_rack);
}

}  // namespace

bool HasWhatItTakes(const SuiteCheck& check, const ValidationNode& node) {
  return std::all_of(check.when.begin(), check.when.end(),
                     [&](Condition condition) { return node.traits.Has(condition); });
}

bool IsAnyAlone(const std::vector<ValidationNode>& tested, const Suite& suite) {
  for (const SuiteStage& stage : suite.stages) {
    for (const SuiteCheck& check : stage.checks) {
      if (LoneNode(check, tested) != nullptr) return true;
    }
  }
  return false;
}

std::vector<ValidationNode> FindWitnesses(const std::vector<ValidationNode>& tested,
                                          const std::vector<ValidationNode>& others, Suite& suite) {
  std::vector<SuiteCheck*> lonely;
  const ValidationNode* alone = nullptr;
  for (SuiteStage& stage : suite.stages) {
    for (SuiteCheck& check : stage.checks) {
      const ValidationNode* node = LoneNode(check, tested);
      if (node == nullptr) continue;
      lonely.push_back(&check);
      if (alone == nullptr) alone = node;
    }
  }
  if (alone == nullptr) return {};
  std::vector<Candidate> candidates;
  for (const ValidationNode& other : others) {
    size_t checks = 0;
    for (SuiteCheck* check : lonely) {
      if (!HasWhatItTakes(*check, other)) continue;
      check->has_others = true;
      ++checks;
    }
    if (checks == 0 || other.uuid.empty()) continue;
    candidates.push_back(
        {&other, checks, other.switch_name == alone->switch_name, other.rack == alone->rack});
  }
  std::stable_sort(candidates.begin(), candidates.end(), IsBetter);
  std::vector<ValidationNode> sorted;
  for (const Candidate& candidate : candidates) sorted.push_back(*candidate.node);
  return sorted;
}

}  // namespace muster::controller::validation
