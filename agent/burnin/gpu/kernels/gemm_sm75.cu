// FP16 and INT8 on the tensor cores of Turing. A thread's sums and fragments take up to 194
// registers, so that two blocks of 128 threads fit on a multiprocessor: while one fetches, the
// other multiplies. One buffer each is enough for that.
#include "agent/burnin/gpu/kernels/gemm_mma.h"
#include "agent/burnin/gpu/kernels/mma.h"

namespace muster::kernels {

struct Turing {
  static constexpr int kBuffers = 1;
  static MUSTER_DEVICE void Copy(void* to, const void* from) {
    *static_cast<Bytes16*>(to) = *static_cast<const Bytes16*>(from);
  }
  static MUSTER_DEVICE void FinishCopies() {}
};

struct TuringF16 : Turing {
  using Sum = float;
  static MUSTER_DEVICE void Add(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    MmaF16K8(c, a[0], a[1], b[0]);
    MmaF16K8(c, a[2], a[3], b[1]);
  }
};

struct TuringS8 : Turing {
  using Sum = int32_t;
  static MUSTER_DEVICE void Add(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    MmaS8K16(c[0], c[1], a[0], b[0]);
    MmaS8K16(c[2], c[3], a[1], b[0]);
    MmaS8K16(c[0], c[1], a[2], b[1]);
    MmaS8K16(c[2], c[3], a[3], b[1]);
  }
};

// `depth` in elements, as everywhere.
MUSTER_KERNEL(kMmaThreads)
gemm_f16_sm75(const uint8_t* a, const uint8_t* b, float* c, uint64_t columns, uint64_t depth) {
  MultiplyByMma<TuringF16>(a, b, c, columns, depth * 2);
}

MUSTER_KERNEL(kMmaThreads)
gemm_s8_sm75(const uint8_t* a, const uint8_t* b, int32_t* c, uint64_t columns, uint64_t depth) {
  MultiplyByMma<TuringS8>(a, b, c, columns, depth);
}

}  // namespace muster::kernels
