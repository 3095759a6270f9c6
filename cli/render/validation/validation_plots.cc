#include "cli/render/validation/validation_plots.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/render/validation/validation_words.h"
#include "muster/v1/validation.pb.h"

namespace muster::cli {
namespace {

constexpr size_t kMinFleet = 5;

// "gpu 2" where the part is known, with the variant where there is one.
std::string SeriesName(const v1::CheckResult& result, const v1::Sample& sample) {
  std::string name = sample.subject();
  for (const v1::Subject& subject : result.subjects())
    if (subject.id() == sample.subject() && subject.kind() == "gpu")
      name = absl::StrCat(subject.kind(), " ", subject.index());
  if (sample.variant().empty()) return name.empty() ? "node" : name;
  return name.empty() ? sample.variant() : absl::StrCat(name, " ", sample.variant());
}

}  // namespace

std::string DrawCurves(const v1::NodeCheckResult& result) {
  // Metrics in alphabetical order, series in the order of their first samples.
  std::map<std::string, std::vector<PlotSeries>> plots;
  std::map<std::pair<std::string, std::string>, size_t> places;
  for (const v1::Sample& sample : result.result().samples()) {
    std::vector<PlotSeries>& series = plots[sample.metric()];
    const std::string name = SeriesName(result.result(), sample);
    const auto [place, is_new] = places.try_emplace({sample.metric(), name}, series.size());
    if (is_new) series.push_back({name, {}});
    series[place->second].points.emplace_back(sample.at_s(), sample.value());
  }
  std::string out;
  for (auto& [metric, series] : plots)
    absl::StrAppend(&out, DrawLinePlot({absl::StrCat(result.result().check(), ": ",
                                                     MetricWords(metric, result.partner())),
                                        "seconds", std::move(series), std::nullopt}));
  return out;
}

void FleetPlots::Take(const v1::NodeCheckResult& result) {
  if (!result.partner().empty()) return;
  for (const v1::Metric& metric : result.result().metrics()) {
    Histogram& each = histograms_[{result.result().check(), metric.name(), metric.variant()}];
    each.unit = std::string(UnitName(metric.unit()));
    each.values.push_back(metric.value());
  }
}

std::string FleetPlots::Draw(const v1::Validation& validation) const {
  std::map<PlottedMetric, Histogram> histograms = histograms_;
  for (const v1::NodeVerdict& node : validation.nodes())
    for (const v1::CheckVerdict& check : node.checks())
      for (const v1::Finding& finding : check.findings()) {
        const auto at = histograms.find({check.check(), finding.metric(), finding.variant()});
        if (at == histograms.end() || !finding.has_value()) continue;
        if (finding.has_floor()) at->second.floor = finding.floor();
        if (!IsFine(finding.outcome()))
          at->second.marked.emplace_back(
              absl::StrCat(node.node(), " ", finding.slot(), " ", finding.subject()),
              finding.value());
      }
  std::string out;
  for (auto& [key, histogram] : histograms) {
    if (histogram.values.size() < kMinFleet) continue;
    const auto& [check, metric, variant] = key;
    // If all have the same value, there is no distribution to show.
    if (std::set<double>(histogram.values.begin(), histogram.values.end()).size() < 2) continue;
    histogram.title = absl::StrCat(check, ": ", MetricWords(metric, variant));
    absl::StrAppend(&out, DrawHistogram(histogram));
  }
  return out;
}

PairPlots::PairPlots(const v1::Validation& validation) {
  for (const v1::NodeVerdict& node : validation.nodes()) {
    places_[node.node()] = names_.size();
    names_.push_back(node.node());
  }
}

void PairPlots::Take(const v1::NodeCheckResult& result) {
  const auto from = places_.find(result.node()), to = places_.find(result.partner());
  if (from == places_.end() || to == places_.end()) return;
  for (const v1::Metric& metric : result.result().metrics()) {
    const PlottedMetric key = {result.result().check(), metric.name(), metric.variant()};
    auto map = maps_.find(key);
    if (map == maps_.end()) {
      const std::string title =
          absl::StrCat(result.result().check(), ": ", MetricWords(metric.name(), metric.variant()),
                       UnitName(metric.unit()).empty() ? "" : ", ", UnitName(metric.unit()));
      map = maps_
                .emplace(key, HeatMap{title, std::string(UnitName(metric.unit())),
                                      checks::PairGrid(names_)})
                .first;
    }
    map->second.grid.Take(from->second, to->second, metric.value());
  }
}

std::string PairPlots::Draw() const {
  std::string out;
  for (const auto& [key, map] : maps_) absl::StrAppend(&out, DrawHeatMap(map));
  return out;
}

}  // namespace muster::cli
