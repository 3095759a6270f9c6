// The checks `cpu-stress` and `memory-stress`: stress-ng, which verifies its results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

// Operations per second of real time, from the metrics of `stress-ng --metrics-brief` for
// `stressor`.
std::optional<double> StressRate(absl::string_view output, absl::string_view stressor);
// "0.15.06", from the output of `stress-ng --version`; "": it is something else.
std::string StressVersion(absl::string_view output);
// Lines that report a failed verification.
std::vector<std::string> StressFailures(absl::string_view output);
// The number of its workers that the kernel killed for lack of memory, as `--oomable --verbose`
// reports.
size_t StressOomKills(absl::string_view output);

// /proc/meminfo's MemTotal and MemFree. nullopt: it has no MemTotal.
struct MemorySize {
  double total_bytes = 0;
  double free_bytes = 0;
};
std::optional<MemorySize> ParseMemorySize(absl::string_view meminfo);

CheckResult RunCpuStress(CheckContext& context);
CheckResult RunMemoryStress(CheckContext& context);

}  // namespace muster::burnin
