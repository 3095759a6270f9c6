// The conditions that stages and checks of a suite set for nodes.
#include <algorithm>
#include <iterator>

#include "controller/validation/suite/suite.h"

namespace muster::controller::validation {

namespace {

constexpr ConditionWord kWords[] = {
    {"gpus", Condition::kGpus, "gpus"},
    {"several_gpus", Condition::kSeveralGpus, "several_gpus"},
    {"nics", Condition::kNics, "nics"},
    {"rdma", Condition::kRdma, "active InfiniBand port"},
    {"machine", Condition::kMachine, "machine"},
    {"mounts", Condition::kMounts, "required_mounts"},
    {"disks", Condition::kDisks, "disk_paths"},
};

const ConditionWord& WordOf(Condition condition) {
  return *std::find_if(std::begin(kWords), std::end(kWords),
                       [&](const ConditionWord& row) { return row.condition == condition; });
}

}  // namespace

absl::string_view ConditionName(Condition condition) { return WordOf(condition).word; }

absl::string_view MissingName(Condition condition) { return WordOf(condition).missing; }

absl::Span<const ConditionWord> ConditionWords() { return kWords; }

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
    case Condition::kDisks:
      return disks;
  }
  return false;
}

bool SuiteStage::IsShared() const {
  return std::any_of(checks.begin(), checks.end(), [](const SuiteCheck& check) {
    return check.spec->scope != checks::Scope::kNode;
  });
}

}  // namespace muster::controller::validation
