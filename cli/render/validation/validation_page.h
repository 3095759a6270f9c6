// A validation as one standalone page: verdicts, findings, curves, the network, the fleet.
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

// The number of nodes whose curves are drawn, those that did not pass first; the page says how many
// are left out.
inline constexpr size_t kMaxNodesWithCurves = 32;

// Takes results one by one, in any order, and keeps only what is drawn: the results of a big
// cluster are never in memory all at once.
class ValidationPage {
 public:
  // `validation` must outlive the object.
  explicit ValidationPage(const v1::Validation& validation);

  // Everything except the samples.
  void Take(const v1::NodeCheckResult& result);
  // The samples of these nodes.
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

// The page of results that are all present, with their samples.
std::string RenderValidationPage(const v1::Validation& validation,
                                 const std::vector<v1::NodeCheckResult>& results,
                                 absl::TimeZone zone);

}  // namespace muster::cli
