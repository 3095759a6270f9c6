// Percentiles and rates of what was measured.
#pragma once

#include <vector>

namespace muster::burnin {

struct RoundTripTimes {
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double largest = 0;
};

// By the nearest rank: the smallest value that at least `fraction` of all are not above; for
// 0 < fraction <= 1. REQUIRES: `sorted` is sorted and not empty.
double PercentileOfSorted(const std::vector<float>& sorted, double fraction);
// All 0 where there are no times.
RoundTripTimes Summarize(std::vector<float> times);
// 0 where there are none; of an even number the mean of the middle two.
double Median(std::vector<double> values);

}  // namespace muster::burnin
