// A validation as text for a terminal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "muster/v1/validation.pb.h"

namespace muster::cli {

// "c002    network  nic-pair c005   fail     receive 6.1 Gbit/s, 9.4 wanted".
std::string RenderVerdictLine(const std::string& node, const v1::CheckVerdict& verdict);
// The same while the validation is running: a pair that was measured without a fault has no verdict
// until all pairs have been compared, and may still fail then.
std::string RenderLiveVerdictLine(const std::string& node, const v1::CheckVerdict& verdict);

// The borrowed witnesses and what that means; "": there are none.
std::string RenderWitness(const v1::Validation& validation);
// The nodes with their verdicts, then everything that is not fine, each with its value, its limit
// and the source of the limit, then what is to blame for faults of the network.
std::string RenderValidation(const v1::Validation& validation, absl::Time now);

// The differences between two validations: nodes and checks whose outcome changed, and values of
// the same metric that moved by a hundredth or more.
std::string RenderComparison(const v1::Validation& a, const v1::Validation& b,
                             const std::vector<v1::NodeCheckResult>& results_a,
                             const std::vector<v1::NodeCheckResult>& results_b);

// "" when the result is undamaged.
std::string DescribeDamage(const std::string& validation_id, const v1::NodeCheckResult& result);

// One row for each validation that a node took part in.
std::string RenderHistory(const std::string& node, const std::vector<v1::Validation>& validations,
                          absl::Time now);

// The worst outcome of its nodes; unknown when that of any node is unknown.
v1::Outcome OutcomeOf(const v1::Validation& validation);

// Exit codes of `muster validate`; docs/cli.md explains them. Faults between nodes count too: a
// slow uplink is not a single node's fault, and somebody has to see to it.
inline constexpr int kExitNotPassed = 1;
inline constexpr int kExitUnknown = 2;
int ExitCodeOf(const v1::Validation& validation);

// The checks that are running on nodes, for the redrawn lines.
class RunningView {
 public:
  void Apply(const v1::ValidationEvent& event);
  // A line for each working node, at most `rows` of at most `columns`. A narrow screen loses the
  // stages first, then words from the end, never a number.
  std::vector<std::string> Lines(size_t rows, size_t columns) const;

 private:
  struct Running {
    std::string node;
    v1::RunningCheck check;
  };
  std::map<std::string, Running> running_;  // by node and check
};

}  // namespace muster::cli
