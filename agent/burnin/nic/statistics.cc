#include "agent/burnin/nic/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace muster::burnin {

double PercentileOfSorted(const std::vector<float>& sorted, double fraction) {
  const double rank = std::ceil(fraction * static_cast<double>(sorted.size()));
  const auto index = static_cast<size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

RoundTripTimes Summarize(std::vector<float> times) {
  if (times.empty()) return {};
  std::sort(times.begin(), times.end());
  return {.p50 = PercentileOfSorted(times, 0.5),
          .p99 = PercentileOfSorted(times, 0.99),
          .p999 = PercentileOfSorted(times, 0.999),
          .largest = times.back()};
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace muster::burnin
