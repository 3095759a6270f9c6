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

void HeatWatch::Take(const Reading& reading) {
  if (reading.celsius.has_value()) {
    hottest_ = std::max(hottest_.value_or(*reading.celsius), *reading.celsius);
    if (limit_.has_value() && *reading.celsius > limit_->celsius && !too_hot_.has_value())
      too_hot_ = reading;
  }
  if (reading.reasons.has_value()) {
    has_reasons_ = true;
    for (size_t kind = 0; last_.has_value() && kind < std::size(kSlowdowns); ++kind) {
      if ((*reading.reasons & kSlowdowns[kind].bits) == 0) continue;
      slowed_[kind] += reading.at - last_->at;
      slowed_too_long_ |= slowed_[kind] >= kSlowdownGrace;
    }
  }
  last_ = reading;
}

void HeatWatch::AddFaults(const std::string& uuid, CheckResult& result) const {
  if (too_hot_.has_value())
    AddFault(result, "too_hot", uuid,
             absl::StrFormat("the GPU had %.0f °C after %.1f s, above its limit of %.0f °C (%s): "
                             "its test was ended; check fans, dust and air flow; hottest %.0f °C",
                             *too_hot_->celsius, absl::ToDoubleSeconds(too_hot_->at),
                             limit_->celsius, limit_->source, *hottest_));
  for (size_t kind = 0; kind < std::size(kSlowdowns); ++kind) {
    if (slowed_[kind] < kSlowdownGrace) continue;
    std::string message =
        absl::StrFormat("the hardware slowed the GPU down for %.1f s, and its test was ended: %s",
                        absl::ToDoubleSeconds(slowed_[kind]), kSlowdowns[kind].cause);
    if (hottest_.has_value()) absl::StrAppendFormat(&message, "; hottest %.0f °C", *hottest_);
    AddFault(result, kSlowdowns[kind].fault, uuid, std::move(message));
  }
}

void HeatWatch::AddMetrics(const std::string& uuid, CheckResult& result) const {
  if (hottest_.has_value()) AddMetric(result, "temperature_max_celsius", "", uuid, *hottest_);
  if (hottest_.has_value() && limit_.has_value())
    AddMetric(result, "thermal_headroom_kelvin", "", uuid, limit_->celsius - *hottest_);
  for (size_t kind = 0; has_reasons_ && kind < std::size(kSlowdowns); ++kind)
    AddMetric(result, "throttle_seconds", kSlowdowns[kind].variant, uuid,
              absl::ToDoubleSeconds(slowed_[kind]));
}

}  // namespace muster::burnin
