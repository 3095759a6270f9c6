#include "agent/burnin/gpu/heat_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace muster::burnin {
namespace {

struct ThresholdRow {
  nvml::TemperatureThreshold threshold;
  const char* source;
};
// The first threshold that the GPU reports counts.
constexpr ThresholdRow kThresholds[] = {
    {nvml::kThresholdGpuMax, "the driver's highest operating temperature"},
    {nvml::kThresholdSlowdown, "the driver's slowdown temperature"},
};
// No GPU could work at a temperature outside this range.
constexpr double kLowestThreshold = 50, kHighestThreshold = 150;

}  // namespace

std::optional<HeatLimit> DriverHeatLimit(const NvmlDevice& device) {
  for (const ThresholdRow& row : kThresholds) {
    const absl::StatusOr<double> celsius = device.ThresholdCelsius(row.threshold);
    if (celsius.ok() && *celsius >= kLowestThreshold && *celsius <= kHighestThreshold)
      return HeatLimit{*celsius, row.source};
  }
  return std::nullopt;
}

ThermalLimits ReadThermalLimits(const NvmlDevice& device) {
  ThermalLimits limits;
  if (const std::optional<HeatLimit> limit = DriverHeatLimit(device))
    limits.gpu_celsius = limit->celsius;
  const absl::StatusOr<double> memory = device.ThresholdCelsius(nvml::kThresholdMemoryMax);
  if (memory.ok() && *memory >= kLowestThreshold && *memory <= kHighestThreshold)
    limits.memory_celsius = *memory;
  const absl::StatusOr<double> margin = device.MarginCelsius();
  const absl::StatusOr<double> least = device.LeastMarginCelsius();
  if (margin.ok() && least.ok() && *margin > *least) limits.least_margin = *least;
  return limits;
}

bool HeatWatch::IsAbove(const Reading& reading) const {
  if (reading.celsius && limit_ && *reading.celsius > limit_->celsius) return true;
  if (reading.memory_celsius && model_.memory_celsius &&
      *reading.memory_celsius > *model_.memory_celsius)
    return true;
  // In place of a limit in degrees, which says the same.
  return !limit_ && reading.margin && model_.least_margin && *reading.margin < *model_.least_margin;
}

bool IsAtLimit(const HeatReading& reading, const ThermalLimits& limits) {
  bool known = false;
  if (reading.celsius && limits.gpu_celsius) {
    known = true;
    if (*reading.celsius >= *limits.gpu_celsius - HeatWatch::kNearLimit) return true;
  }
  if (reading.memory_celsius && limits.memory_celsius) {
    known = true;
    if (*reading.memory_celsius >= *limits.memory_celsius - HeatWatch::kNearLimit) return true;
  }
  if (reading.margin && limits.least_margin) {
    known = true;
    if (*reading.margin <= *limits.least_margin + HeatWatch::kNearLimit) return true;
  }
  return !known;
}

void HeatWatch::Take(const Reading& reading) {
  if (reading.celsius) hottest_ = std::max(hottest_.value_or(*reading.celsius), *reading.celsius);
  if (reading.memory_celsius)
    hottest_memory_ =
        std::max(hottest_memory_.value_or(*reading.memory_celsius), *reading.memory_celsius);
  if (reading.margin)
    least_margin_ = std::min(least_margin_.value_or(*reading.margin), *reading.margin);
  if (!too_hot_.has_value() && IsAbove(reading)) too_hot_ = reading;
  if (reading.reasons.has_value()) {
    has_reasons_ = true;
    for (size_t kind = 0; last_.has_value() && kind < std::size(kSlowdowns); ++kind) {
      const Slowdown& row = kSlowdowns[kind];
      Slowed& slowed = slowed_[kind];
      if (!IsSlowed(row, *reading.reasons)) {
        slowed.stretch = absl::ZeroDuration();
        continue;
      }
      const absl::Duration step = reading.at - last_->at;
      slowed.in_all += step;
      // It is not known since when the first reading of a stretch was true.
      const bool before = last_->reasons.has_value() && IsSlowed(row, *last_->reasons);
      slowed.stretch += before ? step : absl::ZeroDuration();
      slowed.longest_stretch = std::max(slowed.longest_stretch, slowed.stretch);
      if (row.in_one_stretch) {
        slowed.blamed = slowed.longest_stretch;
      } else if (!row.at_limit || IsAtLimit(reading, model_)) {
        slowed.blamed += step;
      }
      slowed_too_long_ |= IsFault(kind);
    }
  }
  last_ = reading;
}

std::string HeatWatch::TooHot() const {
  const Reading& at = *too_hot_;
  const double seconds = absl::ToDoubleSeconds(at.at);
  if (at.celsius && limit_ && *at.celsius > limit_->celsius)
    return absl::StrFormat(
        "the GPU had %.0f °C after %.1f s, above its limit of %.0f °C (%s): its test was ended; "
        "check fans, dust and air flow; hottest %.0f °C",
        *at.celsius, seconds, limit_->celsius, limit_->source, *hottest_);
  if (at.memory_celsius && model_.memory_celsius && *at.memory_celsius > *model_.memory_celsius)
    return absl::StrFormat(
        "the GPU's memory had %.0f °C after %.1f s, above its limit of %.0f °C (the driver's "
        "highest operating temperature of the memory): its test was ended; check fans, dust and "
        "air flow; hottest %.0f °C",
        *at.memory_celsius, seconds, *model_.memory_celsius, *hottest_memory_);
  return absl::StrFormat(
      "the GPU was %.0f K above its highest operating temperature after %.1f s (margin %.0f K, "
      "least %.0f K by the driver): its test was ended; check fans, dust and air flow",
      *model_.least_margin - *at.margin, seconds, *at.margin, *model_.least_margin);
}

void HeatWatch::AddFaults(const std::string& uuid, CheckResult& result) const {
  if (too_hot_.has_value()) AddFault(result, "too_hot", uuid, TooHot());
  for (size_t kind = 0; kind < std::size(kSlowdowns); ++kind) {
    if (!IsFault(kind)) continue;
    const Slowdown& row = kSlowdowns[kind];
    std::string message = absl::StrFormat(
        "the GPU was slowed down for %.1f s (%s), and its test was ended: %s: %s",
        absl::ToDoubleSeconds(slowed_[kind].blamed), row.variant, row.cause, row.remedy);
    if (hottest_.has_value()) absl::StrAppendFormat(&message, "; hottest %.0f °C", *hottest_);
    AddFault(result, row.fault, uuid, std::move(message));
  }
}

std::optional<double> HeatWatch::Headroom() const {
  if (hottest_ && limit_) return limit_->celsius - *hottest_;
  if (least_margin_ && model_.least_margin) return *least_margin_ - *model_.least_margin;
  return std::nullopt;
}

void HeatWatch::AddMetrics(const std::string& uuid, CheckResult& result) const {
  if (hottest_.has_value()) AddMetric(result, "temperature_max_celsius", "", uuid, *hottest_);
  if (hottest_memory_.has_value())
    AddMetric(result, "memory_temperature_max_celsius", "", uuid, *hottest_memory_);
  if (const std::optional<double> headroom = Headroom())
    AddMetric(result, "thermal_headroom_kelvin", "", uuid, *headroom);
  for (size_t kind = 0; has_reasons_ && kind < std::size(kSlowdowns); ++kind)
    AddMetric(result, "throttle_seconds", kSlowdowns[kind].variant, uuid,
              absl::ToDoubleSeconds(slowed_[kind].in_all));
}

}  // namespace muster::burnin
