// The part of cuBLAS' binary interface that is used here: types and numbers of cublas_api.h and
// library_types.h, the same in versions 11 to 13.
#pragma once

#include "agent/burnin/gpu/driver/cuda_abi.h"

namespace muster::burnin::cublas {

using Handle = void*;

// cublasStatus_t.
enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 3,
  kInvalidValue = 7,
  kArchMismatch = 8,
  kNotSupported = 15,
};

// cudaDataType_t.
inline constexpr int kR32F = 0, kR64F = 1, kR16F = 2, kR8I = 3, kR32I = 10, kR16BF = 14;
// cublasComputeType_t.
inline constexpr int kCompute32F = 68, kCompute64F = 70, kCompute32I = 72;
inline constexpr int kCompute32FFastTf32 = 77;
// cublasOperation_t and cublasGemmAlgo_t.
inline constexpr int kNoTranspose = 0, kTranspose = 1;
inline constexpr int kDefaultAlgorithm = -1;

// X(member, symbol, parameters): each function returns a Status. An enum is passed as the int that
// it is.
#define MUSTER_CUBLAS_FUNCTIONS(X)                                                               \
  X(Create, "cublasCreate_v2", (Handle*))                                                        \
  X(Destroy, "cublasDestroy_v2", (Handle))                                                       \
  X(SetStream, "cublasSetStream_v2", (Handle, cuda::Stream))                                     \
  X(GetVersion, "cublasGetVersion_v2", (Handle, int*))                                           \
  X(GemmEx, "cublasGemmEx",                                                                      \
    (Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, \
     const void*, void*, int, int, int, int))

struct Functions {
#define MUSTER_CUBLAS_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  MUSTER_CUBLAS_FUNCTIONS(MUSTER_CUBLAS_MEMBER)
#undef MUSTER_CUBLAS_MEMBER
};

}  // namespace muster::burnin::cublas
