// The check `memory-bandwidth`: how fast all processors together read and write memory.
#pragma once

#include <cstddef>

#include "absl/time/time.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

// Rates in GB/s (10⁹ bytes) that all threads reached together in their best pass, as McCalpin's
// STREAM counts them: 16 bytes an element for a copy, 24 for a triad (a = b + s·c).
struct MemoryRates {
  double copy = 0, triad = 0;
  // Elements that were not what they must be.
  size_t wrong = 0;
};
// Each of `threads` works on arrays of its own of together `bytes`, until `deadline` at least once.
MemoryRates MeasureMemory(Clock& clock, int threads, size_t bytes, absl::Time deadline);

CheckResult RunMemoryBandwidth(CheckContext& context);

}  // namespace muster::burnin
