#include "controller/validation/suite/hardware_lint.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace muster::controller::validation {
namespace {

// A floor this far below the peak would pass everything: megabytes were written as gigabytes.
constexpr double kLeastShareOfPeak = 0.01;

// Rates of hardware, whose peak is in every data sheet.
bool HasPeak(absl::string_view unit) {
  return unit == "TFLOPS" || unit == "TOPS" || unit == "GB/s" || unit == "Gbit/s" ||
         unit == "GFLOPS" || unit == "MB/s";
}

bool IsBad(const std::optional<double>& value) {
  return value.has_value() && (!std::isfinite(*value) || *value < 0);
}

}  // namespace

std::string LintLimit(const HardwareLimit& limit, const checks::MetricSpec& metric) {
  if (limit.unit != metric.unit) {
    return absl::StrCat("'", limit.metric, "' is in ", std::string(metric.unit), ", not in ",
                        limit.unit, ": convert the values");
  }
  if (IsBad(limit.floor) || IsBad(limit.ceiling) || IsBad(limit.peak)) {
    return "floor, ceiling and peak must be 0 or above";
  }
  if (limit.floor.has_value() && metric.better == checks::Better::kLower) {
    return absl::StrCat("less is better for '", limit.metric,
                        "': it can have a ceiling but no floor");
  }
  if (limit.ceiling.has_value() && metric.better == checks::Better::kHigher) {
    return absl::StrCat("more is better for '", limit.metric,
                        "': it can have a floor but no ceiling");
  }
  if (limit.floor.has_value() && limit.ceiling.has_value() && *limit.floor > *limit.ceiling) {
    return "the floor is above the ceiling";
  }
  if (limit.floor.has_value() && !limit.peak.has_value() && HasPeak(limit.unit)) {
    return "the floor of a rate needs the 'peak' of the hardware beside it, which reveals a wrong "
           "unit";
  }
  if (!limit.floor.has_value() || !limit.peak.has_value()) return "";
  if (*limit.floor > *limit.peak) {
    return absl::StrCat("the floor of ", *limit.floor, " ", limit.unit, " is above the peak of ",
                        *limit.peak, " ", limit.unit, ": is it in another unit?");
  }
  if (*limit.floor < kLeastShareOfPeak * *limit.peak) {
    return absl::StrCat("the floor of ", *limit.floor, " ", limit.unit,
                        " is less than a hundredth of the peak of ", *limit.peak, " ", limit.unit,
                        ": is it in another unit?");
  }
  return "";
}

std::string LintPowerWatts(double watts) {
  if (watts >= 10 && watts <= 5000) return "";
  return absl::StrCat(watts, " W is not the power of one card: is it in another unit?");
}

std::string LintTemperature(double celsius) {
  if (celsius >= 40 && celsius <= 120) return "";
  return absl::StrCat(celsius, " °C is not the limit of a chip: is it in another unit?");
}

std::string LintDigest(absl::string_view hex) {
  for (const char c : hex) {
    const bool good = absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f');
    if (!good) return "a digest must be in lower-case hexadecimal digits";
  }
  return hex.size() < 8 ? "a digest needs at least eight digits" : "";
}

}  // namespace muster::controller::validation
