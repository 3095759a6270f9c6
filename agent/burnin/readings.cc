#include "agent/burnin/readings.h"

#include <algorithm>
#include <utility>

namespace muster::burnin {
namespace {

bool IsSame(const Reading& a, const Reading& b) { return a.at == b.at && a.value == b.value; }

}  // namespace

void Readings::Merge(Stretch& to, const Stretch& later) {
  if (later.lowest.value < to.lowest.value) to.lowest = later.lowest;
  if (later.highest.value > to.highest.value) to.highest = later.highest;
  to.end = later.end;
  to.sum += later.sum;
  to.count += later.count;
}

void Readings::Add(Reading reading) {
  if (count_++ == 0) first_ = reading;
  last_ = reading;
  const Stretch one = {reading, reading, reading.at, reading.value, 1};
  if (!stretches_.empty() && stretches_.back().count < stride_) {
    Merge(stretches_.back(), one);
    return;
  }
  if (stretches_.size() < max_stretches_) {
    stretches_.push_back(one);
    return;
  }
  for (size_t i = 0; i < stretches_.size(); ++i) {
    if (i % 2 == 0) {
      stretches_[i / 2] = stretches_[i];
    } else {
      Merge(stretches_[i / 2], stretches_[i]);
    }
  }
  stretches_.resize((stretches_.size() + 1) / 2);
  stride_ *= 2;
  // A stretch left without a neighbor is not full yet.
  if (stretches_.back().count < stride_) {
    Merge(stretches_.back(), one);
  } else {
    stretches_.push_back(one);
  }
}

double Readings::Lowest() const {
  double lowest = first_.value;
  for (const Stretch& stretch : stretches_) lowest = std::min(lowest, stretch.lowest.value);
  return lowest;
}

double Readings::Highest() const {
  double highest = first_.value;
  for (const Stretch& stretch : stretches_) highest = std::max(highest, stretch.highest.value);
  return highest;
}

double Readings::Median(absl::Duration from) const {
  std::vector<std::pair<double, uint64_t>> values;
  uint64_t count = 0;
  for (const Stretch& stretch : stretches_) {
    if (stretch.end < from) continue;
    values.emplace_back(stretch.sum / static_cast<double>(stretch.count), stretch.count);
    count += stretch.count;
  }
  std::sort(values.begin(), values.end());
  uint64_t before = 0;
  for (const auto& [value, times] : values) {
    before += times;
    if (before > count / 2) return value;
  }
  return 0;
}

std::vector<Reading> Readings::PointsOf(const std::vector<Stretch>& stretches) const {
  std::vector<Reading> points;
  for (const Stretch& stretch : stretches) {
    const bool lowest_first = stretch.lowest.at <= stretch.highest.at;
    points.push_back(lowest_first ? stretch.lowest : stretch.highest);
    if (!IsSame(stretch.lowest, stretch.highest))
      points.push_back(lowest_first ? stretch.highest : stretch.lowest);
  }
  if (points.empty()) return points;
  if (!IsSame(points.front(), first_)) points.insert(points.begin(), first_);
  if (!IsSame(points.back(), last_)) points.push_back(last_);
  return points;
}

std::vector<Reading> Readings::Points(size_t most) const {
  std::vector<Reading> points = PointsOf(stretches_);
  if (points.size() <= most) return points;
  const size_t wanted = most < 4 ? 1 : (most - 2) / 2;
  if (wanted >= stretches_.size()) return points;
  std::vector<Stretch> merged;
  for (size_t i = 0; i < wanted; ++i) {
    size_t at = i * stretches_.size() / wanted;
    merged.push_back(stretches_[at]);
    for (const size_t end = (i + 1) * stretches_.size() / wanted; ++at < end;)
      Merge(merged.back(), stretches_[at]);
  }
  return PointsOf(merged);
}

}  // namespace muster::burnin
