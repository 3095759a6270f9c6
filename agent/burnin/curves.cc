#include "agent/burnin/curves.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace muster::burnin {
namespace {

// How many points a curve may have: curves among `sizes` with fewer points leave the others more.
size_t FairShare(std::vector<size_t> sizes, size_t in_all) {
  std::sort(sizes.begin(), sizes.end());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t share = in_all / (sizes.size() - i);
    if (sizes[i] > share) return share;
    in_all -= sizes[i];
  }
  return std::numeric_limits<size_t>::max();
}

}  // namespace

void Curves::Add(const Sample& sample) {
  curves_.try_emplace({sample.subject, sample.metric, sample.variant}, kMaxStretches)
      .first->second.Add({sample.at, sample.value});
}

std::vector<Sample> Curves::Samples() const {
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  std::vector<size_t> sizes;
  for (const auto& [key, readings] : curves_) sizes.push_back(readings.Points(kAll).size());
  const size_t most = FairShare(std::move(sizes), kMaxPointsInAll);
  std::vector<Sample> all;
  for (const auto& [key, readings] : curves_) {
    const auto& [subject, metric, variant] = key;
    for (const Reading& reading : readings.Points(most))
      all.push_back({.at = reading.at,
                     .subject = subject,
                     .metric = metric,
                     .variant = variant,
                     .value = reading.value});
  }
  return all;
}

}  // namespace muster::burnin
