// FP32 and FP64 on the ordinary units, which every GPU from Pascal on has.
#include "agent/burnin/gpu/kernels/gemm_fma.h"

namespace muster::kernels {

struct F32 {
  using Element = float;
  using Sum = float;
  static MUSTER_DEVICE float Add(float a, float b, float sum) { return __builtin_fmaf(a, b, sum); }
};

struct F64 {
  using Element = double;
  using Sum = double;
  static MUSTER_DEVICE double Add(double a, double b, double sum) {
    return __builtin_fma(a, b, sum);
  }
};

MUSTER_KERNEL_BLOCKS(kFmaThreads, kFmaBlocks)
gemm_f32(const float* a, const float* b, float* c, uint64_t columns, uint64_t depth) {
  MultiplyByThreads<F32, 128>(a, b, c, columns, depth);
}

MUSTER_KERNEL_BLOCKS(kFmaThreads, kFmaBlocks)
gemm_f64(const double* a, const double* b, double* c, uint64_t columns, uint64_t depth) {
  MultiplyByThreads<F64, 64>(a, b, c, columns, depth);
}

}  // namespace muster::kernels
