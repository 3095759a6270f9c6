// Walks over memory by all threads of a grid, 16 bytes each at a time.
#pragma once

#include "agent/burnin/gpu/kernels/device.h"

namespace muster::kernels {

// The memory of today's GPUs is busy only when each thread waits for several loads at once.
inline constexpr int kLoadsAtOnce = 4;

// Calls take(i, from[i]) for each of `count` numbers or vectors, neighbouring ones in neighbouring
// threads.
template <typename T, typename Take>
MUSTER_DEVICE void WalkLoading(const T* from, uint64_t count, Take take) {
  const uint64_t step = GridThreads();
  uint64_t i = GridThread();
  for (; i + (kLoadsAtOnce - 1) * step < count; i += kLoadsAtOnce * step) {
    T loaded[kLoadsAtOnce];
    MUSTER_UNROLL
    for (int k = 0; k < kLoadsAtOnce; ++k) loaded[k] = from[i + k * step];
    MUSTER_UNROLL
    for (int k = 0; k < kLoadsAtOnce; ++k) take(i + k * step, loaded[k]);
  }
  for (; i < count; i += step) take(i, from[i]);
}

}  // namespace muster::kernels
