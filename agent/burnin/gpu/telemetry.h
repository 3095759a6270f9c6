// Temperature, power and clocks of the GPUs while a check works on them.
#pragma once

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "agent/burnin/check.h"
#include "agent/burnin/gpu/gpus.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// Samples four times a second in a thread of its own, as temperature_celsius,
// memory_temperature_celsius, power_watts and sm_clock_mhz; the draw of all GPUs together is
// sampled as in common/checks/power_samples.h. A value that a GPU does not report has no samples.
class Telemetry {
 public:
  // The reporter and the clock must live as long as the process: a thread that hangs in the driver
  // stays behind.
  Telemetry(const Gpus& gpus, Reporter& reporter, Clock& clock, absl::Time started_at);
  // Ends sampling without adding to a result.
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // True if that GPU was hotter than its limit, or the hardware slows it down: its test has to end
  // now. The result of Finish() says what was wrong. `i` is an index of Gpus::chosen.
  bool MustEnd(size_t i) const;
  // True for the first GPU whose test is still running: all GPUs keep the same pace, and this one
  // reports the phase.
  bool IsFirstAtWork(size_t i) const;

  // From now on, or no longer, that GPU is loaded: its mean and median values are those of the time
  // under load. See UnderLoad.
  void SetLoaded(size_t i, bool loaded) const;

  // The median SM clock of that GPU under load since `from`, in MHz; 0 if it is not known.
  double MedianClockMhz(const std::string& uuid, absl::Time from) const;

  // Ends sampling. Adds a fault "too_hot" for a GPU that was above its limit, "thermal_throttle" or
  // "power_brake" for one that the hardware has slowed down, and "driver_hangs" when NVML has
  // stopped answering.
  void FinishWithoutMetrics(CheckResult& result);
  // Also adds the metrics of MUSTER_TELEMETRY_METRICS, for which the check's table must have rows:
  // temperatures and slowdowns of the whole check, power and clocks of the time under load.
  void Finish(CheckResult& result);
  // Call after that, for a check that computed all the time: adds "clock_low" for a GPU that ran
  // below its clocks without a reason.
  void AddClockFaults(CheckResult& result) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A GPU is under load while this lives.
class UnderLoad {
 public:
  UnderLoad(const Telemetry& telemetry, size_t i) : telemetry_(telemetry), i_(i) {
    telemetry_.SetLoaded(i_, true);
  }
  ~UnderLoad() { telemetry_.SetLoaded(i_, false); }
  UnderLoad(const UnderLoad&) = delete;
  UnderLoad& operator=(const UnderLoad&) = delete;

 private:
  const Telemetry& telemetry_;
  const size_t i_;
};

}  // namespace muster::burnin
