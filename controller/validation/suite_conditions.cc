// What stages and checks of a suite ask of nodes.
#include <algorithm>

#include "controller/validation/suite.h"

namespace muster::controller::validation {

absl::string_view ConditionName(Condition condition) {
  for (const ConditionWord& row : ConditionWords()) {
    if (row.condition == condition) return row.word;
  }
  return "?";
}

absl::Span<const ConditionWord> ConditionWords() {
  static constexpr ConditionWord kWords[] = {
      {"gpus", Condition::kGpus},       {"several_gpus", Condition::kSeveralGpus},
      {"nics", Condition::kNics},       {"rdma", Condition::kRdma},
      {"machine", Condition::kMachine}, {"mounts", Condition::kMounts},
  };
  return kWords;
}

bool NodeTraits::Has(Condition condition) const {
  switch (condition) {
    case Condition::kGpus:
      return gpus > 0;
    case Condition::kSeveralGpus:
      return gpus > 1;
    case Condition::kNics:
      return nics;
    case Condition::kRdma:
      return rdma;
    case Condition::kMachine:
      return machine;
    case Condition::kMounts:
      return mounts;
  }
  return false;
}

bool SuiteStage::IsShared() const {
  return std::any_of(checks.begin(), checks.end(), [](const SuiteCheck& check) {
    return check.spec->scope != checks::Scope::kNode;
  });
}

}  // namespace muster::controller::validation
