#include "controller/validation/verdict/ring_outlook.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/checks/parameter_value.h"
#include "common/checks/scaling.h"
#include "controller/validation/verdict/statistics.h"

namespace muster::controller::validation {
namespace {

constexpr double kBitsOfByte = 8;

// nullopt: it was not measured, or is not a rate or time.
std::optional<double> PositiveMetric(const v1::CheckResult& result, absl::string_view name,
                                     absl::string_view variant = "") {
  for (const v1::Metric& metric : result.metrics()) {
    if (metric.name() != name || metric.variant() != variant) continue;
    if (std::isfinite(metric.value()) && metric.value() > 0) return metric.value();
  }
  return std::nullopt;
}

// The time that a node computes between two all-reduces.
std::optional<double> ComputeSeconds(const RingResult& ring) {
  for (const checks::ParameterSpec& parameter : ring.spec->parameters) {
    if (parameter.name != "compute-time") continue;
    const auto given = ring.parameters->find(std::string(parameter.name));
    const absl::StatusOr<double> seconds = checks::ParseNumber(
        parameter, given == ring.parameters->end() ? parameter.default_text
                                                   : absl::string_view(given->second));
    if (seconds.ok()) return *seconds;
  }
  return std::nullopt;
}

struct PairRates {
  std::map<std::pair<std::string, std::string>, double> fastest;  // Gbit/s, by sender and receiver

  void Add(const PairMatrix& matrix, const std::set<std::string>& nodes) {
    for (const DirectedRate& rate : matrix.rates) {
      const std::string &from = matrix.nodes[rate.from].name, &to = matrix.nodes[rate.to].name;
      // The pairs report what failed completely.
      if (nodes.count(from) == 0 || nodes.count(to) == 0 || !(rate.gbits_per_s > 0)) continue;
      double& kept = fastest[{from, to}];
      kept = std::max(kept, rate.gbits_per_s);
    }
  }
};

void SetPairs(const PairRates& pairs, v1::RingOutlook& outlook) {
  const auto slowest =
      std::min_element(pairs.fastest.begin(), pairs.fastest.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<double> rates;
  for (const auto& [pair, rate] : pairs.fastest) rates.push_back(rate);
  outlook.set_slowest_pair_gbits_per_s(slowest->second);
  outlook.set_slowest_from(slowest->first.first);
  outlook.set_slowest_to(slowest->first.second);
  outlook.set_median_pair_gbits_per_s(Median(rates));
  outlook.set_pair_rates(static_cast<uint32_t>(rates.size()));
}

std::string MessageOf(const v1::RingOutlook& outlook) {
  const double share = outlook.model_gbits_per_s() / outlook.slowest_pair_gbits_per_s();
  return absl::StrFormat(
      "each link of the ring over %d nodes carries %.4g Gbit/s, %.4g without latencies: %.0f %% of "
      "the slowest pair, from %s to %s with %.4g Gbit/s; the median of pairs is %.4g Gbit/s%s",
      outlook.nodes(), outlook.link_gbits_per_s(), outlook.model_gbits_per_s(), 100 * share,
      outlook.slowest_from(), outlook.slowest_to(), outlook.slowest_pair_gbits_per_s(),
      outlook.median_pair_gbits_per_s(),
      share >= kRingFallsShort ? ""
                               : ". The ring falls short of its pairs: it loads all links at once, "
                                 "both ways, so check uplinks, switches and processors");
}

}  // namespace

std::optional<v1::RingOutlook> CompareWithPairs(const RingResult& ring,
                                                absl::Span<const PairMatrix* const> pairs) {
  const v1::CheckResult& result = *ring.result;
  const auto ranks = PositiveMetric(result, "ranks");
  const auto milliseconds = PositiveMetric(result, "all_reduce_ms");
  const auto algorithm = PositiveMetric(result, "algbw");
  const auto bus = PositiveMetric(result, "busbw");
  const auto hop = PositiveMetric(result, "hop_latency");
  if (!ranks || *ranks < 2 || *ranks > static_cast<double>(ring.nodes->size()) || !milliseconds ||
      !algorithm || !bus || !hop) {
    return std::nullopt;
  }
  PairRates measured;
  const std::set<std::string> nodes(ring.nodes->begin(), ring.nodes->end());
  for (const PairMatrix* matrix : pairs) measured.Add(*matrix, nodes);
  if (measured.fastest.empty()) return std::nullopt;

  v1::RingOutlook outlook;
  outlook.set_stage(std::string(ring.stage));
  outlook.set_check(std::string(ring.spec->name));
  outlook.set_nodes(static_cast<uint32_t>(*ranks));
  const double seconds = *milliseconds * 1e-3;
  const double bytes = *algorithm * 1e9 * seconds;
  const checks::RingModel by_ring =
      checks::FitRing(seconds, bytes, static_cast<int>(*ranks), *hop * 1e-6);
  outlook.set_link_gbits_per_s(*bus * kBitsOfByte);
  outlook.set_model_gbits_per_s(by_ring.bytes_per_second * kBitsOfByte / 1e9);
  SetPairs(measured, outlook);
  outlook.set_message(MessageOf(outlook));

  const checks::RingModel by_pairs{
      .latency_s = by_ring.latency_s,
      .bytes_per_second = outlook.slowest_pair_gbits_per_s() * 1e9 / kBitsOfByte};
  const std::optional<double> compute = ComputeSeconds(ring);
  for (const v1::Metric& metric : result.metrics()) {
    // The ring's results name the numbers of nodes.
    absl::string_view text = metric.variant();
    int count = 0;
    if (metric.name() != "predicted_ms" || !absl::ConsumePrefix(&text, "n=") ||
        !absl::SimpleAtoi(text, &count) || count < 1 || count > *ranks) {
      continue;
    }
    v1::RingForecast& forecast = *outlook.add_forecasts();
    forecast.set_nodes(static_cast<uint32_t>(count));
    const double ring_s = checks::RingSeconds(by_ring, bytes, count);
    const double pairs_s = checks::RingSeconds(by_pairs, bytes, count);
    forecast.set_ring_ms(ring_s * 1e3);
    forecast.set_pairs_ms(pairs_s * 1e3);
    if (!compute.has_value()) continue;
    forecast.set_ring_worst(checks::ScalingEfficiency(*compute, ring_s, /*overlapped=*/false));
    forecast.set_ring_best(checks::ScalingEfficiency(*compute, ring_s, /*overlapped=*/true));
    forecast.set_pairs_worst(checks::ScalingEfficiency(*compute, pairs_s, /*overlapped=*/false));
    forecast.set_pairs_best(checks::ScalingEfficiency(*compute, pairs_s, /*overlapped=*/true));
  }
  return outlook;
}

}  // namespace muster::controller::validation
