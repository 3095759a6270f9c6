// Other programs' work on a GPU.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "agent/burnin/gpu/driver/nvml.h"

namespace muster::burnin {

struct OtherWork {
  // A display server that shows a desktop uses less memory; a process that uses more draws for
  // somebody.
  static constexpr unsigned long long kMostOfDisplay = 512ull << 20;

  std::vector<unsigned> working;   // process ids: those that compute, or draw with much memory
  std::vector<unsigned> displays;  // idle ones
};

// The work of all processes but this one. On a GPU that is lost nobody works, and one that does not
// report who draws draws for nobody. Any other error means that it is not known, in particular when
// the driver does not say who computes.
absl::StatusOr<OtherWork> ReadOtherWork(const NvmlDevice& device);

}  // namespace muster::burnin
