// The checks `cpu-stress` and `memory-stress`: stress-ng, which verifies what it computes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

// Operations per second of real time, of the metrics of `stress-ng --metrics-brief` for `stressor`.
std::optional<double> StressRate(absl::string_view output, absl::string_view stressor);
// Lines that say that a verification failed.
std::vector<std::string> StressFailures(absl::string_view output);
// Of its workers, those that the kernel killed for want of memory, as `--oomable --verbose` tells.
size_t StressOomKills(absl::string_view output);

CheckResult RunCpuStress(CheckContext& context);
CheckResult RunMemoryStress(CheckContext& context);

}  // namespace muster::burnin
