// Defines agent/burnin/gpu/kernels/device.h, dot4.h, mma.h, async_copy.h, hopper/instructions.h and
// hopper/wgmma.h for the host. Included before a kernel, since their own definitions are only for
// clang's CUDA.
#pragma once

#include <cstdint>
#include <cstring>

#include "tests/fakes/nvidia/host/grid.h"
#include "tests/fakes/nvidia/host/hopper.h"
#include "tests/fakes/nvidia/host/mma.h"

#define MUSTER_DEVICE inline
#define MUSTER_RARE inline
#define MUSTER_SHARED thread_local
#define MUSTER_UNROLL
#define MUSTER_KERNEL(threads) static void
#define MUSTER_KERNEL_BLOCKS(threads, blocks) static void

namespace muster::kernels {

inline unsigned ThreadIndex() { return fake_nvidia::Here().thread; }
inline unsigned BlockThreads() { return fake_nvidia::Here().block_threads; }
inline unsigned BlockX() { return fake_nvidia::Here().block_x; }
inline unsigned BlockY() { return fake_nvidia::Here().block_y; }
inline unsigned GridBlocks() { return fake_nvidia::Here().grid_blocks; }
inline void SyncBlock() { fake_nvidia::WaitForBlock(); }

inline int32_t Dot4(uint32_t a, uint32_t b, int32_t sum) {
  for (int i = 0; i < 4; ++i)
    sum += static_cast<int8_t>(a >> (8 * i)) * static_cast<int8_t>(b >> (8 * i));
  return sum;
}

inline void StartCopy(void* shared, const void* global) { std::memcpy(shared, global, 16); }
inline void FinishCopies() {}

}  // namespace muster::kernels
