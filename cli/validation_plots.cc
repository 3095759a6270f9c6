#include "cli/validation_plots.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/validation_words.h"
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

using MetricKey = std::tuple<std::string, std::string, std::string>;  // check, metric, variant

}  // namespace

std::string DrawCurves(const v1::NodeCheckResult& result) {
  // By metric in alphabetical order, by series in that of their first samples.
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

std::string DrawFleet(const v1::Validation& validation,
                      const std::vector<v1::NodeCheckResult>& results) {
  std::map<MetricKey, Histogram> histograms;
  for (const v1::NodeCheckResult& result : results) {
    if (!result.partner().empty()) continue;
    for (const v1::Metric& metric : result.result().metrics()) {
      Histogram& each = histograms[{result.result().check(), metric.name(), metric.variant()}];
      each.unit = metric.unit();
      each.values.push_back(metric.value());
    }
  }
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
    // A value that all have in common has no shape.
    if (std::set<double>(histogram.values.begin(), histogram.values.end()).size() < 2) continue;
    histogram.title = absl::StrCat(check, ": ", MetricWords(metric, variant));
    absl::StrAppend(&out, DrawHistogram(histogram));
  }
  return out;
}

std::string DrawPairs(const v1::Validation& validation,
                      const std::vector<v1::NodeCheckResult>& results) {
  std::vector<std::string> names;
  std::map<std::string, size_t> place;
  for (const v1::NodeVerdict& node : validation.nodes()) {
    place[node.node()] = names.size();
    names.push_back(node.node());
  }
  std::map<MetricKey, HeatMap> maps;
  for (const v1::NodeCheckResult& result : results) {
    const auto from = place.find(result.node()), to = place.find(result.partner());
    if (from == place.end() || to == place.end()) continue;
    for (const v1::Metric& metric : result.result().metrics()) {
      HeatMap& map = maps[{result.result().check(), metric.name(), metric.variant()}];
      if (map.values.empty()) {
        map.names = names;
        map.unit = metric.unit();
        map.values.resize(names.size() * names.size());
      }
      map.values[from->second * names.size() + to->second] = metric.value();
    }
  }
  std::string out;
  for (auto& [key, map] : maps) {
    const auto& [check, metric, variant] = key;
    map.title = absl::StrCat(check, ": ", MetricWords(metric, variant), ", ", map.unit);
    absl::StrAppend(&out, DrawHeatMap(map));
  }
  return out;
}

}  // namespace muster::cli
