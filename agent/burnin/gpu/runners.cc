#include "agent/burnin/runners.h"

#include "agent/burnin/gpu/checks.h"

namespace muster::burnin {
namespace {

constexpr CheckRunner kGpuRunners[] = {
    {"gpu-inventory", RunGpuInventory},   {"gpu-gemm", RunGpuGemm},
    {"gpu-memory", RunGpuMemory},         {"gpu-copy", RunGpuCopy},
    {"gpu-collective", RunGpuCollective}, {"gpu-dcgm", RunGpuDcgm},
};

}  // namespace

absl::Span<const CheckRunner> GpuRunners() { return kGpuRunners; }

}  // namespace muster::burnin
