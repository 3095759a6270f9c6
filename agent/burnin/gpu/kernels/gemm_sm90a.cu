// FP16, BF16, TF32, FP8 and INT8 on the tensor cores of Hopper, at their full rate.
#include "agent/burnin/gpu/kernels/hopper/gemm_wgmma.h"

namespace muster::kernels {

struct HopperF16 {
  using Sum = float;
  static MUSTER_DEVICE void Add(float (&sum)[128], uint64_t a, uint64_t b) { WgmmaF16(sum, a, b); }
};

struct HopperBf16 {
  using Sum = float;
  static MUSTER_DEVICE void Add(float (&sum)[128], uint64_t a, uint64_t b) { WgmmaBf16(sum, a, b); }
};

struct HopperTf32 {
  using Sum = float;
  static MUSTER_DEVICE void Add(float (&sum)[128], uint64_t a, uint64_t b) { WgmmaTf32(sum, a, b); }
};

struct HopperE4m3 {
  using Sum = float;
  static MUSTER_DEVICE void Add(float (&sum)[128], uint64_t a, uint64_t b) { WgmmaE4m3(sum, a, b); }
};

struct HopperS8 {
  using Sum = int32_t;
  static MUSTER_DEVICE void Add(int32_t (&sum)[128], uint64_t a, uint64_t b) { WgmmaS8(sum, a, b); }
};

// `depth` in elements, as everywhere.
MUSTER_KERNEL_BLOCKS(kWgmmaThreads, 1)
gemm_f16_sm90a(TensorMap a, TensorMap b, float* c, uint64_t columns, uint64_t depth) {
  MultiplyByWgmma<HopperF16>(MUSTER_TENSOR_MAP(gemm_f16_sm90a, 0, a),
                             MUSTER_TENSOR_MAP(gemm_f16_sm90a, 1, b), c, columns, depth * 2);
}

MUSTER_KERNEL_BLOCKS(kWgmmaThreads, 1)
gemm_bf16_sm90a(TensorMap a, TensorMap b, float* c, uint64_t columns, uint64_t depth) {
  MultiplyByWgmma<HopperBf16>(MUSTER_TENSOR_MAP(gemm_bf16_sm90a, 0, a),
                              MUSTER_TENSOR_MAP(gemm_bf16_sm90a, 1, b), c, columns, depth * 2);
}

MUSTER_KERNEL_BLOCKS(kWgmmaThreads, 1)
gemm_tf32_sm90a(TensorMap a, TensorMap b, float* c, uint64_t columns, uint64_t depth) {
  MultiplyByWgmma<HopperTf32>(MUSTER_TENSOR_MAP(gemm_tf32_sm90a, 0, a),
                              MUSTER_TENSOR_MAP(gemm_tf32_sm90a, 1, b), c, columns, depth * 4);
}

MUSTER_KERNEL_BLOCKS(kWgmmaThreads, 1)
gemm_e4m3_sm90a(TensorMap a, TensorMap b, float* c, uint64_t columns, uint64_t depth) {
  MultiplyByWgmma<HopperE4m3>(MUSTER_TENSOR_MAP(gemm_e4m3_sm90a, 0, a),
                              MUSTER_TENSOR_MAP(gemm_e4m3_sm90a, 1, b), c, columns, depth);
}

MUSTER_KERNEL_BLOCKS(kWgmmaThreads, 1)
gemm_s8_sm90a(TensorMap a, TensorMap b, int32_t* c, uint64_t columns, uint64_t depth) {
  MultiplyByWgmma<HopperS8>(MUSTER_TENSOR_MAP(gemm_s8_sm90a, 0, a),
                            MUSTER_TENSOR_MAP(gemm_s8_sm90a, 1, b), c, columns, depth);
}

}  // namespace muster::kernels
