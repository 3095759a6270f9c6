// GPUs that are still hot from the work before are let cool before they are loaded again.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/burnin/check.h"
#include "agent/burnin/gpu/gpus.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// At rest GPUs are well below this in any room that people can work in; at work well above.
inline constexpr double kRestCelsius = 60;
// Of a GPU with a low limit: it rests so far below that.
inline constexpr double kRestBelowLimit = 15;
// GPUs that do not become cooler any more have come to rest, however warm the room is.
inline constexpr absl::Duration kSettled = absl::Seconds(30);

// How cool a GPU with that limit is to be before it is loaded.
double RestCelsius(const std::optional<HeatLimit>& limit);

// Whether cooling goes on, reading after reading. Pure.
class CoolDown {
 public:
  CoolDown(absl::Time start, absl::Duration at_most) : end_(start + at_most), progress_(start) {}
  // By how many degrees each GPU is above its rest; those that tell nothing are left out.
  bool Waits(absl::Time now, const std::vector<double>& above);

 private:
  const absl::Time end_;
  absl::Time progress_;          // when it last became cooler
  std::optional<double> least_;  // sum of what was above
};

// Waits until all of `gpus` are at rest, or do not become cooler for kSettled, or for the time of
// the parameter "cool-down"; tells each second how far it is. GPUs that start warm have the
// attribute "warm_at_start_celsius" in `result`. Cancelled: the check is to stop; DeadlineExceeded:
// the driver hangs, which is a fault in `result`.
absl::Status AwaitRest(CheckContext& context, const Gpus& gpus, CheckResult& result);

}  // namespace muster::burnin
