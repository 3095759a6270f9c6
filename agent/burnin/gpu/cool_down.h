// Lets GPUs that are still hot from earlier work cool down before they are loaded again.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/burnin/check.h"
#include "agent/burnin/gpu/gpus.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// Resting GPUs are well below this in any room that people can work in; working ones are well above
// it.
inline constexpr double kRestCelsius = 60;
// A GPU with a low limit rests this far below it.
inline constexpr double kRestBelowLimit = 15;
// GPUs that have stopped cooling are at rest, however warm the room is.
inline constexpr absl::Duration kSettled = absl::Seconds(30);

// How cool a GPU with that limit has to be before it is loaded.
double RestCelsius(const std::optional<HeatLimit>& limit);

// Decides from one reading after another whether to wait longer. Pure.
class CoolDown {
 public:
  CoolDown(absl::Time start, absl::Duration at_most) : end_(start + at_most), progress_(start) {}
  // `above`: by how many degrees each GPU is above its rest; GPUs without a reading are left out.
  bool Waits(absl::Time now, const std::vector<double>& above);

 private:
  const absl::Time end_;
  absl::Time progress_;          // when the GPUs last became cooler
  std::optional<double> least_;  // sum of `above`
};

// Waits until all of `gpus` are at rest, or have not become cooler for kSettled, or for the time of
// the parameter "cool-down"; reports its progress every second. GPUs that start warm get the
// attribute "warm_at_start_celsius" in `result`. Cancelled: the check is to stop; DeadlineExceeded:
// the driver hangs, which is a fault in `result`.
absl::Status AwaitRest(CheckContext& context, const Gpus& gpus, CheckResult& result);

}  // namespace muster::burnin
