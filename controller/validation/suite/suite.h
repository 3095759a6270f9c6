// A suite: which checks run on which nodes, in which order. docs/validation.md describes its
// format.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/checks/catalog.h"

namespace muster::controller::validation {

// Requirements of a check on a node: all conditions of the check must hold.
enum class Condition { kGpus, kSeveralGpus, kNics, kRdma, kMachine, kMounts, kDisks };
absl::string_view ConditionName(Condition condition);
absl::string_view MissingName(Condition condition);
struct ConditionWord {
  absl::string_view word;  // as in suites: "several_gpus"
  Condition condition;
  absl::string_view missing;  // what a node lacks for which it does not hold: "required_mounts"
};
absl::Span<const ConditionWord> ConditionWords();

// The properties of a node that conditions ask for: what it has or what the inventory expects it to
// have.
struct NodeTraits {
  int gpus = 0;
  bool nics = false;
  bool rdma = false;
  bool machine = true;  // not a container, which shares processors and memory with others
  bool mounts = false;  // the inventory names file systems that it must have
  bool disks = false;   // the inventory names folders on its disks

  bool Has(Condition condition) const;
};

struct SuiteCheck {
  const checks::CheckSpec* spec = nullptr;        // from the catalogue; never nullptr
  std::map<std::string, std::string> parameters;  // only those that differ from the defaults
  std::vector<Condition> when;
  absl::Duration time_limit;
  size_t max_rounds = 0;  // of pairs; 0: all
  // For a check between nodes in which one node of a validation would be alone: another node of the
  // inventory could be its partner. See FindWitnesses().
  bool has_others = false;
};

struct SuiteStage {
  std::string name;
  bool side_by_side = false;  // its checks run at the same time; otherwise one after another
  bool stop_on_fail = false;  // a node that fails here takes no part in later stages
  std::vector<SuiteCheck> checks;

  // Whether nodes wait for each other before and after it, because some check is between nodes.
  bool IsShared() const;
};

struct Suite {
  std::string name;  // of its file: "acceptance"
  std::string description;
  std::vector<SuiteStage> stages;
  bool admits = false;  // a pass of it counts as the node's pass, and admits it to Slurm's service
};

// Limits of a suite.
inline constexpr size_t kMaxStages = 50;
inline constexpr size_t kMaxStageChecks = 50;
inline constexpr absl::Duration kMaxTimeLimit = absl::Hours(24 * 14);

// Reads playbooks/suites/NAME.yaml. `catalog` is checks::Checks(), whose checks must outlive the
// suite. InvalidArgument holds all errors (the first 20), each with file:line:column, the line
// itself and the nearest known word.
absl::StatusOr<Suite> ParseSuite(absl::string_view file_name, absl::string_view text,
                                 absl::Span<const checks::CheckSpec* const> catalog);

}  // namespace muster::controller::validation
