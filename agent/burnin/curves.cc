#include "agent/burnin/curves.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace muster::burnin {
namespace {

// Of `group` the sample that is furthest from the point before it.
Sample StandingOut(const std::vector<Sample>& group, double before) {
  return *std::max_element(group.begin(), group.end(), [before](const Sample& a, const Sample& b) {
    return std::abs(a.value - before) < std::abs(b.value - before);
  });
}

std::vector<Sample> Halve(const std::vector<Sample>& points) {
  std::vector<Sample> half;
  for (size_t i = 0; i < points.size(); i += 2) {
    const size_t end = std::min(i + 2, points.size());
    const double before = half.empty() ? points[i].value : half.back().value;
    half.push_back(StandingOut({points.begin() + i, points.begin() + end}, before));
  }
  return half;
}

}  // namespace

void Curves::Add(Sample sample) {
  Curve& curve = curves_[{sample.subject, sample.metric, sample.variant}];
  curve.waiting.push_back(std::move(sample));
  if (curve.waiting.size() < curve.stride) return;
  const double before =
      curve.points.empty() ? curve.waiting.front().value : curve.points.back().value;
  curve.points.push_back(StandingOut(curve.waiting, before));
  curve.waiting.clear();
  if (curve.points.size() < kMaxPoints) return;
  curve.points = Halve(curve.points);
  curve.stride *= 2;
}

std::vector<Sample> Curves::Samples() const {
  const size_t each = kMaxPointsInAll / std::max<size_t>(curves_.size(), 1);
  std::vector<Sample> all;
  for (const auto& [key, curve] : curves_) {
    std::vector<Sample> points = curve.points;
    if (!curve.waiting.empty()) points.push_back(curve.waiting.back());
    while (points.size() > std::max<size_t>(each, 1)) points = Halve(points);
    all.insert(all.end(), points.begin(), points.end());
  }
  return all;
}

}  // namespace muster::burnin
