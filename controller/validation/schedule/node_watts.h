// Estimates a node's power draw from the measurements of its checks.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// The reading of a node's own power meter counts as it is. Without one, GPUs and processors draw
// what their sensors report, and the rest of the node draws its idle power: `idle_watts` less the
// lowest that those sensors have reported so far. A value counts only as far as the previous one
// confirms it: one wrong reading of a sensor must not stop the checks of a rack. Not thread-safe.
class NodeWatts {
 public:
  // A meter shows the mean of the last seconds: at first that of the previous load.
  static constexpr absl::Duration kMeterSettles = absl::Seconds(10);
  // Older readings say nothing about the present draw.
  static constexpr absl::Duration kMeterLasts = absl::Seconds(15);
  static constexpr absl::Duration kSensorLasts = absl::Seconds(5);

  explicit NodeWatts(double idle_watts) : idle_watts_(idle_watts) {}

  // The draw of the whole node by the newest samples of this update and the previous one: the lower
  // of both. nullopt: it holds nothing new, or there is nothing from the last kSensorLasts
  // (kMeterLasts for a meter) to confirm it.
  std::optional<double> Take(const v1::CheckProgress& progress, absl::Time now);

 private:
  struct Sensor {
    double watts = 0;
    double lowest = 0;
    absl::Time at = absl::InfinitePast();
  };

  struct Draw {
    double watts = 0;
    absl::Time until = absl::InfinitePast();  // confirms values until then
  };
  std::optional<double> BorneOut(const Draw& draw, absl::Time now);

  const double idle_watts_;
  Draw before_;
  absl::Time meter_at_ = absl::InfinitePast();
  std::map<std::string, Sensor> sensors_;  // by source, those that have reported
};

}  // namespace muster::controller::validation
