// A validation as one page that stands alone: verdicts, findings, curves, the network, the fleet.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::v1 {
class NodeCheckResult;
class Validation;
}  // namespace muster::v1

namespace muster::cli {

// Curves of this many nodes are drawn, those that did not pass first; the page says how many are
// left out.
inline constexpr size_t kMaxNodesWithCurves = 32;

// `results` with their samples, in any order.
std::string RenderValidationPage(const v1::Validation& validation,
                                 const std::vector<v1::NodeCheckResult>& results,
                                 absl::TimeZone zone);

}  // namespace muster::cli
