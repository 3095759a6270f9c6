// The bundle that a vendor asks for before a card or a node goes back: the evidence from a node's
// checks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::v1 {
class Facts;
class NodeCheckResult;
class Validation;
}  // namespace muster::v1

namespace muster::cli {

// One validation with the results of one node, samples included.
struct ValidationEvidence {
  const v1::Validation& validation;
  const std::vector<v1::NodeCheckResult>& results;
};

// File names and contents: README.txt with the parts, their serials, and what failed against which
// limit; then facts, verdicts and results as JSON, and each validation as a page. Other nodes
// appear in it only by name, as partners. `evidence` is ordered newest first.
std::map<std::string, std::string> RmaFiles(const std::string& node, const v1::Facts& facts,
                                            const std::vector<ValidationEvidence>& evidence,
                                            absl::Time now);

}  // namespace muster::cli
