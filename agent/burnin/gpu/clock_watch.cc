#include "agent/burnin/gpu/clock_watch.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace muster::burnin {
namespace {

std::optional<double> ToldMhz(const absl::StatusOr<double>& mhz) {
  return mhz.ok() && *mhz > 0 ? std::optional<double>(*mhz) : std::nullopt;
}

}  // namespace

ClockLimits ReadClockLimits(const NvmlDevice& device) {
  return {.sm = {ToldMhz(device.MaxClockMhz(nvml::kClockSm)),
                 ToldMhz(device.ApplicationClockMhz(nvml::kClockGraphics))},
          .memory = {ToldMhz(device.MaxClockMhz(nvml::kClockMemory)),
                     ToldMhz(device.ApplicationClockMhz(nvml::kClockMemory))}};
}

void ClockWatch::Take(const Reading& reading) {
  if (!reading.reasons.has_value()) return;
  // At rest, or held back by something that is judged elsewhere (kSlowdowns, where the hardware's
  // slowdown without a closer reason has a row too). An unknown bit may be such a reason.
  if ((*reading.reasons & ~nvml::kReasonApplicationClocks) != 0) return;
  const bool application_clocks = *reading.reasons != 0;
  if (reading.sm_mhz.has_value()) Take(*reading.sm_mhz, application_clocks, sm_);
  if (reading.memory_mhz.has_value()) Take(*reading.memory_mhz, application_clocks, memory_);
}

void ClockWatch::Take(double mhz, bool application_clocks, Series& series) {
  if (!series.limit.highest.has_value()) return;
  const double possible = application_clocks
                              ? std::min(*series.limit.highest,
                                         series.limit.application.value_or(*series.limit.highest))
                              : *series.limit.highest;
  ++series.readings;
  if (mhz >= kLowestShare * possible) return;
  ++series.low;
  series.low_sum_mhz += mhz;
  series.wanted_mhz = possible;
}

void ClockWatch::AddFaults(const std::string& uuid, CheckResult& result) const {
  AddFault("SM", "-rgc", sm_, uuid, result);
  AddFault("memory", "-rmc", memory_, uuid, result);
}

void ClockWatch::AddFault(const char* clock, const char* reset, const Series& series,
                          const std::string& uuid, CheckResult& result) {
  if (series.readings < kFewestReadings || 2 * series.low <= series.readings) return;
  burnin::AddFault(
      result, "clock_low", uuid,
      absl::StrFormat("the %s clock was %.0f MHz under load instead of up to %.0f, and the GPU "
                      "reports no reason: has somebody locked it (nvidia-smi %s unlocks)?",
                      clock, series.low_sum_mhz / static_cast<double>(series.low),
                      series.wanted_mhz, reset));
}

}  // namespace muster::burnin
