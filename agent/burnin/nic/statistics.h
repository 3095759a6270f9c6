// Percentiles and rates of measurements.
#pragma once

#include <vector>

namespace muster::burnin {

struct RoundTripTimes {
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double largest = 0;
};

// The nearest-rank percentile: the smallest value such that at least `fraction` of all values are
// not above it; for 0 < fraction <= 1. REQUIRES: `sorted` is sorted and not empty.
double PercentileOfSorted(const std::vector<float>& sorted, double fraction);
// All fields are 0 if there are no times.
RoundTripTimes Summarize(std::vector<float> times);
// 0 without values; for an even number of values, the mean of the middle two.
double Median(std::vector<double> values);

}  // namespace muster::burnin
