// The parts of the catalogue, by what is tested. Each table is a file; see catalog.cc.
#pragma once

#include "absl/types/span.h"
#include "common/checks/catalog.h"

// Rows for the metrics of every check that watches GPUs at work.
#define MUSTER_TELEMETRY_METRICS                                                                   \
  {"temperature_max_celsius", "celsius", "gpu", Better::kLower, "highest temperature of the GPU"}, \
      {"thermal_headroom_kelvin", "K", "gpu", Better::kNeither,                                    \
       "degrees below its limit; negative when above it"},                                         \
      {"power_mean_watts", "W", "gpu", Better::kNeither, "power draw"},                            \
      {"sm_clock_median_mhz", "MHz", "gpu", Better::kHigher, "clock of its processors"}, {         \
    "throttle_seconds", "s", "gpu", Better::kLower,                                                \
        "time that the hardware slowed it down, by cause"                                          \
  }

namespace muster::checks {

absl::Span<const CheckSpec> GpuChecks();
absl::Span<const CheckSpec> GpuWorkChecks();
absl::Span<const CheckSpec> NicChecks();
absl::Span<const CheckSpec> SystemChecks();

}  // namespace muster::checks
