// Temperature, power and clocks of the GPUs while a check works on them.
#pragma once

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "agent/burnin/check.h"
#include "agent/burnin/gpu/gpus.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// Samples four times a second in a thread of its own, as temperature_celsius, power_watts and
// sm_clock_mhz; what all of them draw together, as common/checks/power_samples.h says. A GPU that
// does not tell one of them has no such samples.
class Telemetry {
 public:
  // The reporter and the clock must live as long as the process: a thread that hangs in the driver
  // stays behind.
  Telemetry(const Gpus& gpus, Reporter& reporter, Clock& clock, absl::Time started_at);
  // Ends sampling without a word.
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // That GPU was hotter than its limit, or the hardware slows it down: its test is to end now. What
  // was wrong stands in the result of Finish(). `i` as in Gpus::chosen.
  bool MustEnd(size_t i) const;
  // The first GPU whose test goes on: all go at one pace, and it tells the phase.
  bool IsFirstAtWork(size_t i) const;

  // The median SM clock of that GPU since `from`, in MHz; 0 where it was not told.
  double MedianClockMhz(const std::string& uuid, absl::Time from) const;

  // Ends sampling. Adds a fault "too_hot" for a GPU that was above its limit, "thermal_throttle" or
  // "power_brake" for one that the hardware has slowed down, and "driver_hangs" when NVML has
  // stopped answering.
  void FinishWithoutMetrics(CheckResult& result);
  // Adds the metrics temperature_max_celsius, power_mean_watts, sm_clock_median_mhz and
  // throttle_seconds, too, of which the check's table must have rows (MUSTER_TELEMETRY_METRICS).
  void Finish(CheckResult& result);
  // After that, of a check that computed all the time: "clock_low" for a GPU that did so below its
  // clocks without a reason.
  void AddClockFaults(CheckResult& result) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace muster::burnin
