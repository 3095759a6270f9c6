// The parts of the catalogue, by what is tested. Each table is a file; see catalog.cc.
#pragma once

#include "absl/types/span.h"
#include "common/checks/catalog.h"

// Rows for the metrics of every check that watches GPUs at work.
#define MUSTER_TELEMETRY_METRICS                                                             \
  {"temperature_max_celsius", "celsius", "gpu", Better::kLower, "hottest that the GPU was"}, \
      {"thermal_headroom_kelvin", "K", "gpu", Better::kNeither,                              \
       "degrees that it stayed below its limit, or below zero was above"},                   \
      {"power_mean_watts", "W", "gpu", Better::kNeither, "power that it drew"},              \
      {"sm_clock_median_mhz", "MHz", "gpu", Better::kHigher, "clock of its processors"}, {   \
    "throttle_seconds", "s", "gpu", Better::kLower,                                          \
        "time for which the hardware slowed it down, by cause"                               \
  }

namespace muster::checks {

absl::Span<const CheckSpec> GpuChecks();
absl::Span<const CheckSpec> GpuWorkChecks();
absl::Span<const CheckSpec> NicChecks();
absl::Span<const CheckSpec> SystemChecks();

}  // namespace muster::checks
