// FP16, BF16, TF32 and INT8 on the tensor cores of Ampere and later.
#include "agent/burnin/gpu/kernels/ampere.h"
#include "agent/burnin/gpu/kernels/mma.h"

namespace muster::kernels {

struct AmpereF16 : Ampere {
  using Sum = float;
  static MUSTER_DEVICE void Add(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    MmaF16K16(c, a, b);
  }
};

struct AmpereBf16 : Ampere {
  using Sum = float;
  static MUSTER_DEVICE void Add(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    MmaBf16K16(c, a, b);
  }
};

struct AmpereTf32 : Ampere {
  using Sum = float;
  static MUSTER_DEVICE void Add(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    MmaTf32K8(c, a, b);
  }
};

struct AmpereS8 : Ampere {
  using Sum = int32_t;
  static MUSTER_DEVICE void Add(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    MmaS8K32(c, a, b);
  }
};

MUSTER_KERNEL(kMmaThreads)
gemm_f16_sm80(const uint8_t* a, const uint8_t* b, float* c, uint64_t columns, uint64_t depth) {
  MultiplyByMma<AmpereF16>(a, b, c, columns, depth * 2);
}

MUSTER_KERNEL(kMmaThreads)
gemm_bf16_sm80(const uint8_t* a, const uint8_t* b, float* c, uint64_t columns, uint64_t depth) {
  MultiplyByMma<AmpereBf16>(a, b, c, columns, depth * 2);
}

MUSTER_KERNEL(kMmaThreads)
gemm_tf32_sm80(const uint8_t* a, const uint8_t* b, float* c, uint64_t columns, uint64_t depth) {
  MultiplyByMma<AmpereTf32>(a, b, c, columns, depth * 4);
}

MUSTER_KERNEL(kMmaThreads)
gemm_s8_sm80(const uint8_t* a, const uint8_t* b, int32_t* c, uint64_t columns, uint64_t depth) {
  MultiplyByMma<AmpereS8>(a, b, c, columns, depth);
}

}  // namespace muster::kernels
