// What other programs do on a GPU.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "agent/burnin/gpu/driver/nvml.h"

namespace muster::burnin {

struct OtherWork {
  // A display server that shows a desktop holds less; what holds more draws for somebody.
  static constexpr unsigned long long kMostOfDisplay = 512ull << 20;

  std::vector<unsigned> working;   // process ids: what computes, and what draws with much memory
  std::vector<unsigned> displays;  // that rest
};

// Of all processes but this one. What the GPU does not tell, or being lost cannot tell, nobody
// does; any other error means that it is not known.
absl::StatusOr<OtherWork> ReadOtherWork(const NvmlDevice& device);

}  // namespace muster::burnin
