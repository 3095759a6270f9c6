// The metrics of musterd: one row each, from which the page for Prometheus and docs/metrics.md are
// made. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster::controller {

struct Readings;

enum class MetricKind { kGauge, kCounter, kHistogram };

// A value with its labels, {name, value} each. `suffix` is what a histogram's series add to the
// name: "_bucket".
struct MetricSample {
  std::vector<std::pair<absl::string_view, std::string>> labels;
  double value = 0;
  absl::string_view suffix = {};
};

// Names and units follow Prometheus' conventions (prometheus.io/docs/practices/naming).
struct Metric {
  absl::string_view name;
  MetricKind kind;
  absl::string_view labels;  // "node", "method, code"; "": none
  absl::string_view help;
  std::vector<MetricSample> (*read)(const Readings&);
};
absl::Span<const Metric> Metrics();
absl::string_view MetricKindName(MetricKind kind);

// The page in Prometheus' text format, version 0.0.4.
std::string RenderMetrics(const Readings& readings);

}  // namespace muster::controller
