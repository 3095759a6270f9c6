// libcublas.so.N of the fake: FP32 and INT8 by three loops, whatever the real one can refuse.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "agent/burnin/gpu/gemm/cublas_abi.h"
#include "tests/fakes/nvidia/world.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace muster::fake_nvidia {
namespace {

namespace cublas = burnin::cublas;

// MUSTER_FAKE_CUBLAS is the library's number: 12.
const FakeCublas& Told(const World& world) {
  static const FakeCublas kGood;
  const auto told = world.cublas.find(MUSTER_FAKE_CUBLAS);
  return told != world.cublas.end() ? told->second : kGood;
}

template <typename Element, typename Sum>
void Multiply(const void* a, const void* b, void* c, size_t n) {
  const auto* rows = static_cast<const Element*>(a);
  const auto* columns = static_cast<const Element*>(b);
  auto* out = static_cast<Sum*>(c);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) {
      Sum sum = 0;
      for (size_t k = 0; k < n; ++k)
        sum += static_cast<Sum>(rows[i * n + k]) * static_cast<Sum>(columns[j * n + k]);
      out[i * n + j] = sum;
    }
}

}  // namespace

EXPORT int cublasCreate_v2(void** handle) {
  const std::shared_ptr<const World> world = CurrentWorld();
  if (Told(*world).create != 0) return Told(*world).create;
  *handle = new char;
  return cublas::kSuccess;
}
EXPORT int cublasDestroy_v2(void* handle) {
  delete static_cast<char*>(handle);
  return cublas::kSuccess;
}
EXPORT int cublasSetStream_v2(void*, void*) { return cublas::kSuccess; }
EXPORT int cublasGetVersion_v2(void*, int* version) {
  *version = MUSTER_FAKE_CUBLAS * 10000 + 405;
  return cublas::kSuccess;
}
// C = Aᵀ · B in column-major order, as Muster calls it: `b` by `a` in rows.
EXPORT int cublasGemmEx(void*, int, int, int n, int, int, const void*, const void* a, int type, int,
                        const void* b, int, int, const void*, void* c, int, int, int, int) {
  const std::shared_ptr<const World> world = CurrentWorld();
  const std::vector<int>& refused = Told(*world).refuses;
  if (std::find(refused.begin(), refused.end(), type) != refused.end())
    return cublas::kNotSupported;
  const auto size = static_cast<size_t>(n);
  if (type == cublas::kR32F) {
    Multiply<float, float>(b, a, c, size);
  } else if (type == cublas::kR8I) {
    Multiply<int8_t, int32_t>(b, a, c, size);
  } else {
    return cublas::kNotSupported;
  }
  return cublas::kSuccess;
}

}  // namespace muster::fake_nvidia
