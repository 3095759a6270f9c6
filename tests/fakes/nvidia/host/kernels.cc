// Every kernel of muster-burnin, compiled for the host, by name.
#include <cstring>
#include <tuple>
#include <utility>

#include "tests/fakes/nvidia/host/device.h"
#include "tests/fakes/nvidia/host_kernel.h"

// The sources that become PTX: the definitions above give them another meaning.
#include "agent/burnin/gpu/kernels/fill.cu"
#include "agent/burnin/gpu/kernels/gemm_dp4a.cu"
#include "agent/burnin/gpu/kernels/gemm_fma.cu"
#include "agent/burnin/gpu/kernels/gemm_sm70.cu"
#include "agent/burnin/gpu/kernels/gemm_sm75.cu"
#include "agent/burnin/gpu/kernels/gemm_sm80.cu"
#include "agent/burnin/gpu/kernels/gemm_sm89.cu"
#include "agent/burnin/gpu/kernels/gemm_sm90a.cu"
#include "agent/burnin/gpu/kernels/memory.cu"
#include "agent/burnin/gpu/kernels/verify.cu"

namespace muster::fake_nvidia {
namespace {

template <typename... Arguments, size_t... kIndex>
auto Unpack(void (*)(Arguments...), void** arguments, std::index_sequence<kIndex...>) {
  return std::tuple<Arguments...>(*static_cast<Arguments*>(arguments[kIndex])...);
}

template <typename... Arguments>
constexpr size_t CountOf(void (*)(Arguments...)) {
  return sizeof...(Arguments);
}

template <auto kKernel, bool kBarriers>
void Run(const Launch& launch, void** arguments) {
  const auto values = Unpack(kKernel, arguments, std::make_index_sequence<CountOf(kKernel)>());
  RunGrid(launch, kBarriers, [&] { std::apply(kKernel, values); });
}

struct Row {
  const char* name;
  HostKernel kernel;
};

#define MUSTER_HOST_KERNEL(name, barriers) \
  { #name, &Run < &kernels::name, barriers> }

constexpr Row kKernels[] = {
    MUSTER_HOST_KERNEL(fill_elements, false),   MUSTER_HOST_KERNEL(compare_words32, false),
    MUSTER_HOST_KERNEL(compare_words64, false), MUSTER_HOST_KERNEL(digest_words32, false),
    MUSTER_HOST_KERNEL(digest_words64, false),  MUSTER_HOST_KERNEL(memory_write, false),
    MUSTER_HOST_KERNEL(memory_verify, false),   MUSTER_HOST_KERNEL(memory_invert, false),
    MUSTER_HOST_KERNEL(memory_copy, false),     MUSTER_HOST_KERNEL(gemm_f32, true),
    MUSTER_HOST_KERNEL(gemm_f64, true),         MUSTER_HOST_KERNEL(gemm_s8_dp4a, true),
    MUSTER_HOST_KERNEL(gemm_f16_sm70, true),    MUSTER_HOST_KERNEL(gemm_f16_sm75, true),
    MUSTER_HOST_KERNEL(gemm_s8_sm75, true),     MUSTER_HOST_KERNEL(gemm_f16_sm80, true),
    MUSTER_HOST_KERNEL(gemm_bf16_sm80, true),   MUSTER_HOST_KERNEL(gemm_tf32_sm80, true),
    MUSTER_HOST_KERNEL(gemm_s8_sm80, true),     MUSTER_HOST_KERNEL(gemm_e4m3_sm89, true),
    MUSTER_HOST_KERNEL(gemm_f16_sm90a, true),   MUSTER_HOST_KERNEL(gemm_bf16_sm90a, true),
    MUSTER_HOST_KERNEL(gemm_tf32_sm90a, true),  MUSTER_HOST_KERNEL(gemm_e4m3_sm90a, true),
    MUSTER_HOST_KERNEL(gemm_s8_sm90a, true),
};

#undef MUSTER_HOST_KERNEL

}  // namespace

HostKernel FindHostKernel(const char* name) {
  for (const Row& row : kKernels)
    if (std::strcmp(row.name, name) == 0) return row.kernel;
  return nullptr;
}

}  // namespace muster::fake_nvidia
