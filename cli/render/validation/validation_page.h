// A validation as one page that stands alone: verdicts, findings, curves, the network, the fleet.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/render/validation/validation_plots.h"

namespace muster::v1 {
class NodeCheckResult;
class Validation;
}  // namespace muster::v1

namespace muster::cli {

// Curves of this many nodes are drawn, those that did not pass first; the page says how many are
// left out.
inline constexpr size_t kMaxNodesWithCurves = 32;

// Takes results one by one, in any order, and keeps of them what is drawn: those of a big cluster
// are never in memory at once.
class ValidationPage {
 public:
  // `validation` outlives it.
  explicit ValidationPage(const v1::Validation& validation);

  // Everything but the samples.
  void Take(const v1::NodeCheckResult& result);
  // The samples, of these nodes.
  const std::vector<std::string>& nodes_with_curves() const { return nodes_with_curves_; }
  void TakeCurves(const v1::NodeCheckResult& result);
  std::string Render(absl::TimeZone zone) const;

 private:
  std::string Curves() const;

  const v1::Validation& validation_;
  const std::vector<std::string> nodes_with_curves_;
  std::map<std::string, std::string> curves_;  // by node
  FleetPlots fleet_;
  PairPlots pairs_;
};

// The page of results that are all there, with their samples.
std::string RenderValidationPage(const v1::Validation& validation,
                                 const std::vector<v1::NodeCheckResult>& results,
                                 absl::TimeZone zone);

}  // namespace muster::cli
