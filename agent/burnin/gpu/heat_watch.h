// Watches one GPU at work for heat and for a failing power supply.
#pragma once

#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "agent/burnin/gpu/clock_reasons.h"
#include "agent/burnin/gpu/driver/nvml.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// A GPU that is hotter than this ends its test.
struct HeatLimit {
  double celsius = 0;
  std::string source;  // "parameter max-temperature"
};

// The highest operating temperature that the driver reports, otherwise the temperature at which the
// hardware slows itself down. nullopt: it reports neither, as for newer models that only know their
// margin.
std::optional<HeatLimit> DriverHeatLimit(const NvmlDevice& device);

// Takes readings in the order of time and says when the test of the GPU has to end. Pure.
class HeatWatch {
 public:
  // The hardware may report a slowdown for a moment when clocks change: a shorter one is not a
  // fault.
  static constexpr absl::Duration kSlowdownGrace = absl::Seconds(1);

  struct Reading {
    absl::Duration at;  // since the start of the check
    std::optional<double> celsius;
    std::optional<unsigned long long> reasons;  // bits of nvml::ClockReason
  };

  explicit HeatWatch(std::optional<HeatLimit> limit) : limit_(std::move(limit)) {}

  void Take(const Reading& reading);
  // The GPU was above its limit, or was slowed down for kSlowdownGrace in all.
  bool must_end() const { return too_hot_.has_value() || slowed_too_long_; }

  // Adds those of "too_hot", "thermal_throttle" and "power_brake" that apply.
  void AddFaults(const std::string& uuid, CheckResult& result) const;
  // Adds those of temperature_max_celsius, thermal_headroom_kelvin and throttle_seconds that have
  // readings.
  void AddMetrics(const std::string& uuid, CheckResult& result) const;

 private:
  const std::optional<HeatLimit> limit_;
  std::optional<Reading> last_;
  std::optional<Reading> too_hot_;  // the first one
  std::optional<double> hottest_;
  bool has_reasons_ = false;
  bool slowed_too_long_ = false;
  absl::Duration slowed_[std::size(kSlowdowns)] = {};
};

}  // namespace muster::burnin
