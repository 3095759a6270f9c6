// The reasons why a GPU runs below its clock, in words.
#pragma once

#include <string>

#include "agent/burnin/gpu/driver/nvml_abi.h"

namespace muster::burnin {

// A slowdown that the hardware decides on by itself, without anybody's request.
struct Slowdown {
  unsigned long long bits;
  const char* variant;  // of throttle_seconds
  const char* fault;
  const char* cause;
};
inline constexpr Slowdown kSlowdowns[] = {
    {nvml::kReasonHardwareThermal | nvml::kReasonSoftwareThermal, "thermal", "thermal_throttle",
     "it is too hot: check fans, dust and air flow"},
    {nvml::kReasonPowerBrake, "power_brake", "power_brake",
     "the power supply asserts power brake: check supplies and cables"},
};

// "hw_thermal, power_brake"; "" for none, "0x200" for bits without a name.
std::string ClockReasonNames(unsigned long long reasons);

}  // namespace muster::burnin
