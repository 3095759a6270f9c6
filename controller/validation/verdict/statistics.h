// Robust statistics over what nodes measured. Pure; the values are finite.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace muster::controller::validation {

// 1/Φ⁻¹(3/4): makes the median absolute deviation of normally distributed values estimate their
// standard deviation (P. J. Rousseeuw, C. Croux: Alternatives to the Median Absolute Deviation,
// J. Am. Stat. Assoc. 88, 1993).
inline constexpr double kMadToSigma = 1.4826;

// Fewer peers than this say too little about what is usual.
inline constexpr size_t kMinPeers = 8;

// REQUIRES: `values` is not empty. Of an even number the mean of the two in the middle.
double Median(std::vector<double> values);

// Median of the distances from `median`, times kMadToSigma. REQUIRES: `values` is not empty.
double ScaledMad(const std::vector<double>& values, double median);

// `share` from 0 to 1, with linear interpolation between ranks (R. J. Hyndman, Y. Fan: Sample
// Quantiles in Statistical Packages, Am. Stat. 50, 1996, definition 7). REQUIRES: not empty.
double Percentile(std::vector<double> values, double share);

// The values of several tellers, so that none has more than a `least_tellers`th of all: where one
// tells too many, only some of its values count, spread over what it tells. With 2, a value that is
// like its own teller's others is never outside of FindUsualRange() by what one other tells; with
// 3, no one moves the median out of what the others tell. With fewer tellers all values count.
std::vector<double> FairShares(std::vector<std::vector<double>> by_teller, size_t least_tellers);

// How far a value may be from what is usual.
struct OutlierRule {
  double deviations = 5;  // scaled MADs
  // But at least so far: machines that are alike to a thousandth are no reason to call the one that
  // differs by two thousandths broken.
  double min_share = 0;     // of the median
  double min_absolute = 0;  // in the unit of the values
};

// What is usual among some values.
struct UsualRange {
  double median = 0;
  double lower = 0;
  double upper = 0;
  size_t values = 0;
};

// nullopt with fewer than `min_values`.
std::optional<UsualRange> FindUsualRange(const std::vector<double>& values, const OutlierRule& rule,
                                         size_t min_values = kMinPeers);

}  // namespace muster::controller::validation
