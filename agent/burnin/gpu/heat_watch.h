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

// What the driver calls limits of the model; nullopt: it does not report that one.
struct ThermalLimits {
  std::optional<double> gpu_celsius;     // DriverHeatLimit()
  std::optional<double> memory_celsius;  // highest operating temperature of the memory
  std::optional<double> least_margin;    // at the highest operating temperature; Ada and later
};
// A margin that a GPU at rest is already below says nothing and is left out.
ThermalLimits ReadThermalLimits(const NvmlDevice& device);

// What the driver says of a GPU's heat at one moment.
struct HeatReading {
  absl::Duration at;  // since the start of the check
  std::optional<double> celsius;
  std::optional<unsigned long long> reasons;  // bits of nvml::ClockReason
  std::optional<double> memory_celsius = {};
  std::optional<double> margin = {};  // degrees below the hardware's slowdown
};

// Whether GPU or memory are at their highest operating temperature, or nearly so. True where none
// of the limits is known together with its reading. Pure.
bool IsAtLimit(const HeatReading& reading, const ThermalLimits& limits);

// Takes readings in the order of time and says when the test of the GPU has to end. Pure.
class HeatWatch {
 public:
  // So far below a limit a GPU that is held there may be: sensors round, and the driver acts early.
  static constexpr double kNearLimit = 2;

  using Reading = HeatReading;

  // `limit`: for the GPU's own temperature.
  explicit HeatWatch(std::optional<HeatLimit> limit, const ThermalLimits& model = {})
      : limit_(std::move(limit)), model_(model) {}

  void Take(const Reading& reading);
  // GPU or memory was above its limit, or the GPU was slowed down for longer than kSlowdowns
  // allows.
  bool must_end() const { return too_hot_.has_value() || slowed_too_long_; }

  // Adds those of "too_hot" and the faults of kSlowdowns that apply.
  void AddFaults(const std::string& uuid, CheckResult& result) const;
  // Adds those of temperature_max_celsius, memory_temperature_max_celsius, thermal_headroom_kelvin
  // and throttle_seconds that have readings.
  void AddMetrics(const std::string& uuid, CheckResult& result) const;

 private:
  struct Slowed {
    absl::Duration in_all, stretch, longest_stretch;
    absl::Duration blamed;  // the part of it that counts as a fault
  };
  bool IsAbove(const Reading& reading) const;
  bool IsFault(size_t kind) const { return slowed_[kind].blamed >= kSlowdowns[kind].grace; }
  std::string TooHot() const;
  std::optional<double> Headroom() const;

  const std::optional<HeatLimit> limit_;
  const ThermalLimits model_;
  std::optional<Reading> last_;
  std::optional<Reading> too_hot_;  // the first one
  std::optional<double> hottest_, hottest_memory_, least_margin_;
  bool has_reasons_ = false;
  bool slowed_too_long_ = false;
  Slowed slowed_[std::size(kSlowdowns)] = {};
};

}  // namespace muster::burnin
