// Walks over memory by all threads of a grid, 16 bytes each at a time.
#pragma once

#include "agent/burnin/gpu/kernels/device.h"

namespace muster::kernels {

// The memory of today's GPUs is busy only when each thread waits for several loads at once.
inline constexpr int kLoadsAtOnce = 4;

// Calls take(i, from[i]) for each of `count` numbers or vectors. A block takes kLoadsAtOnce times
// as many as it has threads, all of them neighbors, then those that are a grid further.
template <typename T, typename Take>
MUSTER_DEVICE void WalkLoading(const T* from, uint64_t count, Take take) {
  const uint64_t threads = BlockThreads();
  const uint64_t of_block = threads * kLoadsAtOnce;
  for (uint64_t begin = BlockX() * of_block; begin < count; begin += GridBlocks() * of_block) {
    const uint64_t first = begin + ThreadIndex();
    if (begin + of_block <= count) {
      T loaded[kLoadsAtOnce];
      MUSTER_UNROLL
      for (int k = 0; k < kLoadsAtOnce; ++k) loaded[k] = from[first + k * threads];
      MUSTER_UNROLL
      for (int k = 0; k < kLoadsAtOnce; ++k) take(first + k * threads, loaded[k]);
    } else {
      for (uint64_t i = first; i < count; i += threads) take(i, from[i]);
    }
  }
}

}  // namespace muster::kernels
