// Multiplies on one GPU for a while and compares every result bit for bit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/burnin/gpu/gemm/engine.h"
#include "agent/burnin/readings.h"
#include "common/base/clock.h"

namespace muster::burnin {

struct BurnSettings {
  kernels::Element type = kernels::Element::kF32;
  uint64_t size = 0;        // rows, columns and depth; 0: the engine's, or what fits
  double memory_share = 0;  // share of the free memory over which results are spread
  double verify_share = 1;  // share of the results that are compared
  uint64_t seed = 1;
  absl::Duration duration;
};

struct BurnObserver {
  // Called about once a second.
  std::function<void(double tflops)> on_rate;
  // Asked before each burst of work; true ends it.
  std::function<bool()> stop;
  // Called with true when the products begin that are measured, and with false at their end,
  // whatever it is.
  std::function<void(bool loaded)> on_load;
};

struct BurnOutcome {
  // Enough for more than an hour of single seconds.
  static constexpr size_t kMaxRates = 4096;

  uint64_t size = 0;
  uint64_t buffers = 0;  // results that fit into the memory at a time
  uint64_t products = 0, verified = 0;
  Readings tflops{kMaxRates};  // about one per second
  std::string digest;          // digest of the golden result, lower-case hex
  uint64_t mismatches = 0;     // elements that differed from the golden result
  uint64_t not_finite = 0;
  std::vector<std::string> mismatch_evidence;  // bounded
  std::vector<std::string> golden_errors;      // the golden result itself is wrong
};

// The first result is the golden one. Blocks; ResourceExhausted: no memory for another result.
absl::StatusOr<BurnOutcome> Burn(KernelLauncher& kernels, GemmEngine& engine, Clock& clock,
                                 const BurnSettings& settings, const BurnObserver& observer);

}  // namespace muster::burnin
