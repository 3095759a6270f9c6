// INT8 without tensor cores.
#include "agent/burnin/gpu/kernels/dot4.h"
#include "agent/burnin/gpu/kernels/gemm_fma.h"

namespace muster::kernels {

// An element is four bytes that are consecutive in depth.
struct S8x4 {
  using Element = uint32_t;
  using Sum = int32_t;
  static MUSTER_DEVICE int32_t Add(uint32_t a, uint32_t b, int32_t sum) { return Dot4(a, b, sum); }
};

// `depth` counts bytes, as for the other kernels; a multiple of 32.
MUSTER_KERNEL_BLOCKS(kFmaThreads, kFmaBlocks)
gemm_s8_dp4a(const uint32_t* a, const uint32_t* b, int32_t* c, uint64_t columns, uint64_t depth) {
  MultiplyByThreads<S8x4, 128>(a, b, c, columns, depth / 4);
}

}  // namespace muster::kernels
