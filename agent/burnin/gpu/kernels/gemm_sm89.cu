// FP8 on the tensor cores of Ada, Hopper and later.
#include "agent/burnin/gpu/kernels/ampere.h"
#include "agent/burnin/gpu/kernels/mma.h"

namespace muster::kernels {

struct AdaE4m3 : Ampere {
  using Sum = float;
  static MUSTER_DEVICE void Add(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    MmaE4m3K32(c, a, b);
  }
};

MUSTER_KERNEL(kMmaThreads)
gemm_e4m3_sm89(const uint8_t* a, const uint8_t* b, float* c, uint64_t columns, uint64_t depth) {
  MultiplyByMma<AdaE4m3>(a, b, c, columns, depth);
}

}  // namespace muster::kernels
