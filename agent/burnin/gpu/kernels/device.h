// What a kernel stands on: the CUDA words that clang knows, without the headers of the toolkit.
//
// Kernels use these words alone. The fake driver defines the same ones for the host before it
// includes a kernel (tests/fakes/nvidia/host/device.h), and runs the very sources.
#pragma once

#include <stdint.h>

#ifdef __CUDA__

#define MUSTER_DEVICE inline __attribute__((device, always_inline))
#define MUSTER_SHARED __attribute__((shared))
#define MUSTER_UNROLL _Pragma("unroll")
// A kernel of at most `threads` threads a block: the compiler may give each as many registers as
// there are for that many.
#define MUSTER_KERNEL(threads) \
  extern "C" __attribute__((global)) __attribute__((launch_bounds(threads))) void

namespace muster::kernels {

MUSTER_DEVICE unsigned ThreadIndex() { return __nvvm_read_ptx_sreg_tid_x(); }
MUSTER_DEVICE unsigned BlockThreads() { return __nvvm_read_ptx_sreg_ntid_x(); }
MUSTER_DEVICE unsigned BlockX() { return __nvvm_read_ptx_sreg_ctaid_x(); }
MUSTER_DEVICE unsigned BlockY() { return __nvvm_read_ptx_sreg_ctaid_y(); }
MUSTER_DEVICE unsigned GridBlocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }
// All threads of the block come here before one goes on.
MUSTER_DEVICE void SyncBlock() { __syncthreads(); }

}  // namespace muster::kernels

#endif

namespace muster::kernels {

// kCount numbers that are loaded and stored by one instruction; 8 or 16 bytes, aligned so. Read
// and written with [].
template <typename T, int kCount>
struct Vector {
  typedef T Type __attribute__((vector_size(kCount * sizeof(T)), may_alias));
};

// `from` is aligned as T is, which the compiler believes of a void* but not of an address within an
// array of smaller things.
template <typename T>
MUSTER_DEVICE T Load(const void* from) {
  return *static_cast<const T*>(from);
}

// Of this thread among all of a grid with one dimension, and how many they are: kernels that walk
// over memory take every GridThreads()-th word, so that neighbours touch neighbouring addresses.
MUSTER_DEVICE uint64_t GridThread() { return uint64_t{BlockX()} * BlockThreads() + ThreadIndex(); }
MUSTER_DEVICE uint64_t GridThreads() { return uint64_t{GridBlocks()} * BlockThreads(); }

// Atomic on the device; for counters, so no order of other memory accesses is promised.
MUSTER_DEVICE uint64_t AddTo(uint64_t* sum, uint64_t value) {
  return __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

}  // namespace muster::kernels
