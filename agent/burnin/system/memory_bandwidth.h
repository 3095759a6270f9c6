// The check `memory-bandwidth`: how fast all processors together read and write memory.
#pragma once

#include <cstddef>

#include "absl/time/time.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

// Rates in GB/s (10⁹ bytes) that all threads together reached in their best pass, counted as in
// McCalpin's STREAM: 16 bytes per element for a copy, 24 for a triad (a = b + s·c).
struct MemoryRates {
  double copy = 0, triad = 0;
  // Elements with a wrong value.
  size_t wrong = 0;
};
// Each of `threads` works on arrays of its own, together `bytes` large, until `deadline`, but at
// least once.
MemoryRates MeasureMemory(Clock& clock, int threads, size_t bytes, absl::Time deadline);

CheckResult RunMemoryBandwidth(CheckContext& context);

}  // namespace muster::burnin
