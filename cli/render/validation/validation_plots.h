// The plots of a validation's page, chosen by what its checks measured.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cli/render/page/plot.h"

namespace muster::v1 {
class NodeCheckResult;
class Validation;
}  // namespace muster::v1

namespace muster::cli {

using PlottedMetric = std::tuple<std::string, std::string, std::string>;  // check, metric, variant

// Plots rate, temperature, power and the like over the time of one check: one picture for each
// metric, one line for each part. "" without samples.
std::string DrawCurves(const v1::NodeCheckResult& result);

// For each metric with at least five values from the nodes' parts: their distribution, and where
// the failed ones lie.
class FleetPlots {
 public:
  void Take(const v1::NodeCheckResult& result);
  std::string Draw(const v1::Validation& validation) const;

 private:
  std::map<PlottedMetric, Histogram> histograms_;
};

// For each metric measured between two nodes: a heat map of the pairs.
class PairPlots {
 public:
  explicit PairPlots(const v1::Validation& validation);
  void Take(const v1::NodeCheckResult& result);
  std::string Draw() const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, size_t> places_;  // in names_
  std::map<PlottedMetric, HeatMap> maps_;
};

}  // namespace muster::cli
