// Robust statistics over measurements of nodes. Pure; the values are finite.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace muster::controller::validation {

// 1/Φ⁻¹(3/4): makes the median absolute deviation of normally distributed values estimate their
// standard deviation (P. J. Rousseeuw, C. Croux: Alternatives to the Median Absolute Deviation,
// J. Am. Stat. Assoc. 88, 1993).
inline constexpr double kMadToSigma = 1.4826;

// With fewer peers, there is too little to say what is usual.
inline constexpr size_t kMinPeers = 8;

// REQUIRES: `values` is not empty. For an even number, the mean of the two middle values.
double Median(std::vector<double> values);

// Median of the distances from `median`, times kMadToSigma. REQUIRES: `values` is not empty.
double ScaledMad(const std::vector<double>& values, double median);

// `share` from 0 to 1, with linear interpolation between ranks (R. J. Hyndman, Y. Fan: Sample
// Quantiles in Statistical Packages, Am. Stat. 50, 1996, definition 7). REQUIRES: not empty.
double Percentile(std::vector<double> values, double share);

// Combines the values of several tellers so that none has more than a `least_tellers`th of all: of
// a teller with too many, only some values count, evenly spread over its values. With 2, a value
// that is like the others of its own teller is never outside of FindUsualRange() because of one
// other teller; with 3, no single teller moves the median out of the range of the others. With
// fewer tellers all values count.
std::vector<double> FairShares(std::vector<std::vector<double>> by_teller, size_t least_tellers);

// How far a value may be from the usual ones.
struct OutlierRule {
  double deviations = 5;  // scaled MADs
  // The least allowed distance: where machines are alike to a thousandth, a difference of two
  // thousandths does not mean that one is broken.
  double min_share = 0;     // of the median
  double min_absolute = 0;  // in the unit of the values
};

// The usual range of some values.
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
