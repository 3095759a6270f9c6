#include "controller/validation/schedule/node_watts.h"

#include <algorithm>
#include <utility>

#include "common/checks/power_samples.h"

namespace muster::controller::validation {
namespace {

// A broken or lying worker must not stop the tests of a whole rack.
constexpr double kMostWatts = 100'000;

}  // namespace

std::optional<double> NodeWatts::Take(const v1::CheckProgress& progress, absl::Time now) {
  std::map<std::string, double> newest;
  for (const v1::Sample& sample : progress.samples()) {
    if (sample.metric() != checks::kPowerMetric || !sample.subject().empty()) continue;
    if (!(sample.value() >= 0 && sample.value() <= kMostWatts)) continue;
    if (sample.variant() == checks::kPowerOfNode &&
        !(sample.at_s() >= absl::ToDoubleSeconds(kMeterSettles))) {
      continue;
    }
    newest[sample.variant()] = sample.value();
  }
  bool is_new = false;
  for (const char* source : {checks::kPowerOfProcessors, checks::kPowerOfGpus}) {
    const auto found = newest.find(source);
    if (found == newest.end()) continue;
    is_new = true;
    const auto [sensor, is_first] = sensors_.try_emplace(source);
    const double lowest = is_first ? found->second : sensor->second.lowest;
    sensor->second = {found->second, std::min(lowest, found->second), now};
  }
  if (const auto meter = newest.find(checks::kPowerOfNode); meter != newest.end()) {
    meter_at_ = now;
    return BorneOut({meter->second, now + kMeterLasts}, now);
  }
  if (!is_new || now < meter_at_ + kMeterLasts) return std::nullopt;
  double rest = idle_watts_;
  double measured = 0;
  for (const auto& [source, sensor] : sensors_) {
    rest -= sensor.lowest;
    measured += now < sensor.at + kSensorLasts ? sensor.watts : sensor.lowest;
  }
  return BorneOut({std::max(0.0, rest) + measured, now + kSensorLasts}, now);
}

std::optional<double> NodeWatts::BorneOut(const Draw& draw, absl::Time now) {
  const Draw before = std::exchange(before_, draw);
  if (now > before.until) return std::nullopt;
  return std::min(before.watts, draw.watts);
}

}  // namespace muster::controller::validation
