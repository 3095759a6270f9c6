// The base of all kernels: the CUDA keywords that clang knows, without the headers of the toolkit.
//
// Kernels use only these. The fake driver defines the same ones for the host before it includes a
// kernel (tests/fakes/nvidia/host/device.h), and runs the very same sources.
#pragma once

#include <stdint.h>

#ifdef __CUDA__

#define MUSTER_DEVICE inline __attribute__((device, always_inline))
// The same, but called: for what happens rarely, so that it takes no registers from the rest.
#define MUSTER_RARE __attribute__((device, noinline)) static
#define MUSTER_SHARED __attribute__((shared))
#define MUSTER_UNROLL _Pragma("unroll")
// A kernel of at most `threads` threads per block: the compiler may give each thread as many
// registers as that number allows.
#define MUSTER_KERNEL(threads) \
  extern "C" __attribute__((global)) __attribute__((launch_bounds(threads))) void
// The same, but at least `blocks` blocks must fit on a multiprocessor at a time.
#define MUSTER_KERNEL_BLOCKS(threads, blocks) \
  extern "C" __attribute__((global)) __attribute__((launch_bounds(threads, blocks))) void

namespace muster::kernels {

MUSTER_DEVICE unsigned ThreadIndex() { return __nvvm_read_ptx_sreg_tid_x(); }
MUSTER_DEVICE unsigned BlockThreads() { return __nvvm_read_ptx_sreg_ntid_x(); }
MUSTER_DEVICE unsigned BlockX() { return __nvvm_read_ptx_sreg_ctaid_x(); }
MUSTER_DEVICE unsigned BlockY() { return __nvvm_read_ptx_sreg_ctaid_y(); }
MUSTER_DEVICE unsigned GridBlocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }
// All threads of the block arrive here before any continues.
MUSTER_DEVICE void SyncBlock() { __syncthreads(); }

}  // namespace muster::kernels

#endif

namespace muster::kernels {

// kCount numbers that are loaded and stored by one instruction; 8 or 16 bytes, aligned accordingly.
// Read and written with [].
template <typename T, int kCount>
struct Vector {
  typedef T Type __attribute__((vector_size(kCount * sizeof(T)), may_alias));
};

// `from` is aligned as T is; the compiler believes this of a void* but not of an address within an
// array of smaller elements.
template <typename T>
MUSTER_DEVICE T Load(const void* from) {
  return *static_cast<const T*>(from);
}

// Index of this thread in a one-dimensional grid, and the number of threads in it: kernels that
// walk over memory take every GridThreads()-th word, so that neighbors touch neighboring
// addresses.
MUSTER_DEVICE uint64_t GridThread() { return uint64_t{BlockX()} * BlockThreads() + ThreadIndex(); }
MUSTER_DEVICE uint64_t GridThreads() { return uint64_t{GridBlocks()} * BlockThreads(); }

// Atomic on the device; for counters, so it promises no order of other memory accesses.
MUSTER_DEVICE uint64_t AddTo(uint64_t* sum, uint64_t value) {
  return __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

}  // namespace muster::kernels
