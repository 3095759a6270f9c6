// The part of cublasLt's binary interface that is used here: types and numbers of cublasLt.h and
// library_types.h, the same in versions 11 to 13. Its status codes are those of cuBLAS.
#pragma once

#include <cstddef>
#include <cstdint>

#include "agent/burnin/gpu/driver/cuda_abi.h"
#include "agent/burnin/gpu/gemm/cublas_abi.h"

namespace muster::burnin::cublas_lt {

using Handle = void*;
using Operation = void*;   // cublasLtMatmulDesc_t
using Layout = void*;      // cublasLtMatrixLayout_t
using Preference = void*;  // cublasLtMatmulPreference_t

// cudaDataType_t.
inline constexpr int kR8FE4M3 = 28;
// cublasLtMatmulDescAttributes_t.
inline constexpr int kTransposeA = 3, kTransposeB = 4, kFastAccumulation = 25;
// cublasLtMatmulPreferenceAttributes_t.
inline constexpr int kMaxWorkspaceBytes = 1;
// libraryPropertyType.
inline constexpr int kMajorVersion = 0, kMinorVersion = 1, kPatchLevel = 2;

// How a product is computed.
struct Algorithm {
  uint64_t data[8];
};
// cublasLtMatmulHeuristicResult_t.
struct Heuristic {
  Algorithm algorithm;
  size_t workspace_bytes;
  int state;  // cublas::Status
  float waves;
  int reserved[4];
};

// X(member, symbol, parameters): each function returns a cublas::Status.
#define MUSTER_CUBLAS_LT_FUNCTIONS(X)                                                              \
  X(Create, "cublasLtCreate", (Handle*))                                                           \
  X(Destroy, "cublasLtDestroy", (Handle))                                                          \
  X(GetProperty, "cublasLtGetProperty", (int, int*))                                               \
  X(OperationCreate, "cublasLtMatmulDescCreate", (Operation*, int, int))                           \
  X(OperationDestroy, "cublasLtMatmulDescDestroy", (Operation))                                    \
  X(OperationSet, "cublasLtMatmulDescSetAttribute", (Operation, int, const void*, size_t))         \
  X(LayoutCreate, "cublasLtMatrixLayoutCreate", (Layout*, int, uint64_t, uint64_t, int64_t))       \
  X(LayoutDestroy, "cublasLtMatrixLayoutDestroy", (Layout))                                        \
  X(PreferenceCreate, "cublasLtMatmulPreferenceCreate", (Preference*))                             \
  X(PreferenceDestroy, "cublasLtMatmulPreferenceDestroy", (Preference))                            \
  X(PreferenceSet, "cublasLtMatmulPreferenceSetAttribute", (Preference, int, const void*, size_t)) \
  X(FindAlgorithms, "cublasLtMatmulAlgoGetHeuristic",                                              \
    (Handle, Operation, Layout, Layout, Layout, Layout, Preference, int, Heuristic*, int*))        \
  X(Multiply, "cublasLtMatmul",                                                                    \
    (Handle, Operation, const void*, const void*, Layout, const void*, Layout, const void*,        \
     const void*, Layout, void*, Layout, const Algorithm*, void*, size_t, cuda::Stream))

struct Functions {
#define MUSTER_CUBLAS_LT_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  MUSTER_CUBLAS_LT_FUNCTIONS(MUSTER_CUBLAS_LT_MEMBER)
#undef MUSTER_CUBLAS_LT_MEMBER
};

}  // namespace muster::burnin::cublas_lt
