// libcublasLt.so.N of the fake: FP8 by three loops, whatever the real one can refuse.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "agent/burnin/gpu/gemm/cublas_lt_abi.h"
#include "agent/burnin/gpu/number.h"
#include "tests/fakes/nvidia/world.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace muster::fake_nvidia {
namespace {

namespace cublas = burnin::cublas;
namespace cublas_lt = burnin::cublas_lt;

// MUSTER_FAKE_CUBLAS is the library's number: 12.
const FakeCublas& Told(const World& world) {
  static const FakeCublas kGood;
  const auto told = world.cublas.find(MUSTER_FAKE_CUBLAS);
  return told != world.cublas.end() ? told->second : kGood;
}

struct FakeOperation {
  int transpose_a = cublas::kNoTranspose, transpose_b = cublas::kNoTranspose;
};
struct FakeLayout {
  int type;
  uint64_t size;
};
// The mark of an algorithm that FindAlgorithms() has filled in.
constexpr uint64_t kAlgorithm = 0x66616b65;

}  // namespace

EXPORT int cublasLtCreate(void** handle) {
  const std::shared_ptr<const World> world = CurrentWorld();
  if (Told(*world).create != 0) return Told(*world).create;
  *handle = new char;
  return cublas::kSuccess;
}
EXPORT int cublasLtDestroy(void* handle) {
  delete static_cast<char*>(handle);
  return cublas::kSuccess;
}
EXPORT int cublasLtGetProperty(int part, int* number) {
  *number = part == cublas_lt::kMajorVersion ? MUSTER_FAKE_CUBLAS : 4 + part - 1;
  return cublas::kSuccess;
}
EXPORT int cublasLtMatmulDescCreate(void** operation, int compute, int scale) {
  if (compute != cublas::kCompute32F || scale != cublas::kR32F) return cublas::kNotSupported;
  *operation = new FakeOperation;
  return cublas::kSuccess;
}
EXPORT int cublasLtMatmulDescDestroy(void* operation) {
  delete static_cast<FakeOperation*>(operation);
  return cublas::kSuccess;
}
EXPORT int cublasLtMatmulDescSetAttribute(void* operation, int attribute, const void* value,
                                          size_t bytes) {
  auto* fake = static_cast<FakeOperation*>(operation);
  if (attribute == cublas_lt::kFastAccumulation)
    return bytes == sizeof(int8_t) ? cublas::kSuccess : cublas::kInvalidValue;
  if (bytes != sizeof(int)) return cublas::kInvalidValue;
  const int number = *static_cast<const int*>(value);
  if (attribute == cublas_lt::kTransposeA)
    fake->transpose_a = number;
  else if (attribute == cublas_lt::kTransposeB)
    fake->transpose_b = number;
  else
    return cublas::kInvalidValue;
  return cublas::kSuccess;
}
EXPORT int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns,
                                      int64_t leading) {
  if (rows != columns || static_cast<uint64_t>(leading) != rows) return cublas::kNotSupported;
  *layout = new FakeLayout{type, rows};
  return cublas::kSuccess;
}
EXPORT int cublasLtMatrixLayoutDestroy(void* layout) {
  delete static_cast<FakeLayout*>(layout);
  return cublas::kSuccess;
}
EXPORT int cublasLtMatmulPreferenceCreate(void** preference) {
  *preference = new char;
  return cublas::kSuccess;
}
EXPORT int cublasLtMatmulPreferenceDestroy(void* preference) {
  delete static_cast<char*>(preference);
  return cublas::kSuccess;
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(void*, int attribute, const void*, size_t bytes) {
  return attribute == cublas_lt::kMaxWorkspaceBytes && bytes == sizeof(uint64_t)
             ? cublas::kSuccess
             : cublas::kInvalidValue;
}
// FP8 needs A transposed and B not, as on a real GPU.
EXPORT int cublasLtMatmulAlgoGetHeuristic(void*, void* operation, void* a, void* b, void* c, void*,
                                          void*, int wanted, cublas_lt::Heuristic* found,
                                          int* count) {
  const std::shared_ptr<const World> world = CurrentWorld();
  const std::vector<int>& refused = Told(*world).refuses;
  const auto* how = static_cast<FakeOperation*>(operation);
  const auto type_of = [](void* layout) { return static_cast<FakeLayout*>(layout)->type; };
  *count = 0;
  const bool known = type_of(a) == cublas_lt::kR8FE4M3 && type_of(b) == cublas_lt::kR8FE4M3 &&
                     type_of(c) == cublas::kR32F && how->transpose_a == cublas::kTranspose &&
                     how->transpose_b == cublas::kNoTranspose;
  if (!known || wanted < 1 ||
      std::find(refused.begin(), refused.end(), type_of(a)) != refused.end())
    return cublas::kNotSupported;
  *found = {};
  found->algorithm.data[0] = kAlgorithm;
  *count = 1;
  return cublas::kSuccess;
}
// C = Aᵀ · B in column-major order, as Muster calls it: `b` by `a` in rows.
EXPORT int cublasLtMatmul(void*, void*, const void*, const void* a, void* layout, const void* b,
                          void*, const void*, const void*, void*, void* d, void*,
                          const cublas_lt::Algorithm* algorithm, void*, size_t, void*) {
  if (algorithm->data[0] != kAlgorithm) return cublas::kInvalidValue;
  const uint64_t n = static_cast<FakeLayout*>(layout)->size;
  const auto* rows = static_cast<const uint8_t*>(b);
  const auto* columns = static_cast<const uint8_t*>(a);
  for (uint64_t i = 0; i < n; ++i)
    for (uint64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (uint64_t k = 0; k < n; ++k)
        sum += burnin::FromE4m3(rows[i * n + k]) * burnin::FromE4m3(columns[j * n + k]);
      static_cast<float*>(d)[i * n + j] = static_cast<float>(sum);
    }
  return cublas::kSuccess;
}

}  // namespace muster::fake_nvidia
