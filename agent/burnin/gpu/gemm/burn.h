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
  uint64_t size = 0;        // rows, columns and depth; 0: by the type and the memory there is
  double memory_share = 0;  // of the free memory, that results are spread over
  double verify_share = 1;  // of the results, that are compared
  uint64_t seed = 1;
  absl::Duration duration;
};

struct BurnObserver {
  // Of about each second.
  std::function<void(double tflops)> on_rate;
  // Before each burst of work; true ends it.
  std::function<bool()> stop;
};

struct BurnOutcome {
  // More than an hour's seconds one by one.
  static constexpr size_t kMaxRates = 4096;

  uint64_t size = 0;
  uint64_t buffers = 0;  // results that the memory held at a time
  uint64_t products = 0, verified = 0;
  Readings tflops{kMaxRates};  // of about each second
  std::string digest;          // of the golden result, lower-case hex
  uint64_t mismatches = 0;     // elements that differed from the golden result
  uint64_t not_finite = 0;
  std::vector<std::string> mismatch_evidence;  // bounded
  std::vector<std::string> golden_errors;      // the golden result itself is wrong
};

// The first result is the golden one. Blocks; ResourceExhausted: no memory for one result more.
absl::StatusOr<BurnOutcome> Burn(KernelLauncher& kernels, GemmEngine& engine, Clock& clock,
                                 const BurnSettings& settings, const BurnObserver& observer);

}  // namespace muster::burnin
