#include "agent/burnin/gpu/runners.h"

#include "agent/burnin/gpu/inventory/check.h"

namespace muster::burnin {
namespace {

constexpr CheckRunner kGpuRunners[] = {
    {"gpu-inventory", RunGpuInventory},
};

}  // namespace

absl::Span<const CheckRunner> GpuRunners() { return kGpuRunners; }

}  // namespace muster::burnin
