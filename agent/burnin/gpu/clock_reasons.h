// The reasons why a GPU runs below its clock, in words.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "agent/burnin/gpu/driver/nvml_abi.h"

namespace muster::burnin {

// A slowdown that nobody has asked for. NVML's documentation of the clock event reasons says what
// each bit means.
struct Slowdown {
  unsigned long long bits;
  unsigned long long unless;  // bits that name the cause more closely, in rows of their own
  const char* variant;        // of throttle_seconds
  const char* fault;
  const char* cause;
  const char* remedy;
  absl::Duration grace;  // a shorter one is not a fault
  bool in_one_stretch;   // `grace` counts without an interruption, not in all
  bool at_limit;         // a fault only for a GPU at its highest operating temperature
};
inline constexpr Slowdown kSlowdowns[] = {
    {nvml::kReasonHardwareThermal, 0, "thermal", "thermal_throttle", "it is too hot",
     "check fans, dust and air flow", absl::Seconds(1), false, false},
    // The driver lowers clocks so that a temperature is not exceeded. Consumer cards are held that
    // way at a target below their highest operating temperature, for quiet fans: that is no fault.
    {nvml::kReasonSoftwareThermal, 0, "sw_thermal", "thermal_throttle",
     "the driver keeps it from exceeding its highest operating temperature",
     "check fans, dust and air flow", absl::Seconds(10), false, true},
    {nvml::kReasonPowerBrake, 0, "power_brake", "power_brake",
     "the power supply asserts power brake", "check supplies and cables", absl::Seconds(1), false,
     false},
    // Appears for a moment when clocks change, too.
    {nvml::kReasonHardwareSlowdown, nvml::kReasonHardwareThermal | nvml::kReasonPowerBrake,
     "hw_slowdown", "hw_slowdown",
     "the GPU does not say why: its power draw may be too high, or heat or the power supply halves "
     "its clocks",
     "check power cables and supplies, then fans", absl::Seconds(1), true, false},
};

inline bool IsSlowed(const Slowdown& slowdown, unsigned long long reasons) {
  return (reasons & slowdown.bits) != 0 && (reasons & slowdown.unless) == 0;
}

// "hw_thermal, power_brake"; "" for none, "0x200" for bits without a name.
std::string ClockReasonNames(unsigned long long reasons);

}  // namespace muster::burnin
