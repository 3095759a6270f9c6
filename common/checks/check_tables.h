// The parts of the catalogue, by what is tested. Each table is a file; see catalog.cc.
#pragma once

#include "absl/types/span.h"
#include "common/checks/catalog.h"

// Rows for the metrics of every check that watches GPUs at work.
#define MUSTER_TELEMETRY_METRICS                                                                   \
  {"temperature_max_celsius", "celsius", "gpu", Better::kLower, "highest temperature of the GPU"}, \
      {"memory_temperature_max_celsius", "celsius", "gpu", Better::kLower,                         \
       "highest temperature of its memory"},                                                       \
      {"thermal_headroom_kelvin", "K", "gpu", Better::kNeither,                                    \
       "degrees below its limit; negative when above it"},                                         \
      {"power_mean_watts", "W", "gpu", Better::kNeither, "power draw under load"},                 \
      {"power_median_watts", "W", "gpu", Better::kNeither, "median of its power draw under load"}, \
      {"sm_clock_median_mhz", "MHz", "gpu", Better::kHigher,                                       \
       "clock of its processors under load"},                                                      \
      {"throttle_seconds", "s", "gpu", Better::kLower,                                             \
       "time that the hardware slowed it down, by cause"},                                         \
      MUSTER_NEW_ERRORS_METRIC
// For every check that loads GPUs.
#define MUSTER_NEW_ERRORS_METRIC                                   \
  {                                                                \
    "new_errors", "1", "gpu", Better::kLower,                      \
        "errors that the GPU counted during the check, by counter" \
  }

namespace muster::checks {

absl::Span<const CheckSpec> GpuChecks();
absl::Span<const CheckSpec> GpuWorkChecks();
absl::Span<const CheckSpec> NicChecks();
absl::Span<const CheckSpec> SystemChecks();

}  // namespace muster::checks
