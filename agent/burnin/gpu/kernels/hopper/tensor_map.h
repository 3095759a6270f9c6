// A matrix as the copy engine of Hopper knows it.
#pragma once

#include <stdint.h>

namespace muster::kernels {

// CUtensorMap, aligned as CUDA 13 has it, twice as CUDA 12: filled by cuTensorMapEncodeTiled() and
// passed to a kernel by value.
struct alignas(128) TensorMap {
  uint64_t words[16];
};

}  // namespace muster::kernels
