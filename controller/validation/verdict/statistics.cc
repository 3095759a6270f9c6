#include "controller/validation/verdict/statistics.h"

#include <algorithm>
#include <cmath>

namespace muster::controller::validation {

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return *std::max_element(values.begin(), middle) / 2 + *middle / 2;
}

double ScaledMad(const std::vector<double>& values, double median) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - median));
  return kMadToSigma * Median(std::move(distances));
}

double Percentile(std::vector<double> values, double share) {
  const double rank = std::clamp(share, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), below, values.end());
  const double part = rank - std::floor(rank);
  if (part == 0) return *below;
  return *below + part * (*std::min_element(below + 1, values.end()) - *below);
}

std::vector<double> FairShares(std::vector<std::vector<double>> by_teller, size_t least_tellers) {
  size_t most = 0;
  for (const std::vector<double>& values : by_teller) most = std::max(most, values.size());
  if (by_teller.size() >= least_tellers) {
    // The highest limit per teller that is no more than the allowed share of what is left. One
    // value of each is allowed; a limit that is too high stays so for every higher one.
    const auto is_fair = [&](size_t bound) {
      size_t all = 0;
      for (const std::vector<double>& values : by_teller) all += std::min(values.size(), bound);
      return all >= bound * least_tellers;
    };
    size_t fair = std::min<size_t>(1, most), unfair = most + 1;
    while (fair + 1 < unfair) {
      const size_t middle = fair + (unfair - fair) / 2;
      (is_fair(middle) ? fair : unfair) = middle;
    }
    most = fair;
  }
  std::vector<double> shares;
  for (std::vector<double>& values : by_teller) {
    const size_t count = std::min(values.size(), most);
    if (count < values.size()) std::sort(values.begin(), values.end());
    // Taken from the middle of each of `count` equal parts.
    for (size_t i = 0; i < count; ++i)
      shares.push_back(values[(2 * i + 1) * values.size() / (2 * count)]);
  }
  return shares;
}

std::optional<UsualRange> FindUsualRange(const std::vector<double>& values, const OutlierRule& rule,
                                         size_t min_values) {
  if (values.empty() || values.size() < min_values) return std::nullopt;
  UsualRange range;
  range.median = Median(values);
  range.values = values.size();
  const double width = std::max({rule.deviations * ScaledMad(values, range.median),
                                 rule.min_share * std::abs(range.median), rule.min_absolute});
  range.lower = range.median - width;
  range.upper = range.median + width;
  return range;
}

}  // namespace muster::controller::validation
