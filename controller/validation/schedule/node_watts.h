// What a node draws, from what its checks measured.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// A node's own power meter counts as it is. Where it has none, GPUs and processors are what their
// sensors say, and the rest of the node draws what it draws without work: `idle_watts` less the
// lowest that those sensors have said so far. A value counts as far as the one before it bears it
// out: one wrong reading of a sensor must not stop the checks of a rack. Not thread-safe.
class NodeWatts {
 public:
  // A meter shows the mean of the last seconds: at first that of what ran before.
  static constexpr absl::Duration kMeterSettles = absl::Seconds(10);
  // Nothing that is older says what is drawn now.
  static constexpr absl::Duration kMeterLasts = absl::Seconds(15);
  static constexpr absl::Duration kSensorLasts = absl::Seconds(5);

  explicit NodeWatts(double idle_watts) : idle_watts_(idle_watts) {}

  // What the whole node draws by the newest samples of this update and the one before: the lower of
  // both. nullopt: it says nothing new, or there is nothing of the last kSensorLasts (kMeterLasts
  // for a meter) to bear it out.
  std::optional<double> Take(const v1::CheckProgress& progress, absl::Time now);

 private:
  struct Sensor {
    double watts = 0;
    double lowest = 0;
    absl::Time at = absl::InfinitePast();
  };

  struct Draw {
    double watts = 0;
    absl::Time until = absl::InfinitePast();  // bears out what comes before then
  };
  std::optional<double> BorneOut(const Draw& draw, absl::Time now);

  const double idle_watts_;
  Draw before_;
  absl::Time meter_at_ = absl::InfinitePast();
  std::map<std::string, Sensor> sensors_;  // by source, those that ever told
};

}  // namespace muster::controller::validation
