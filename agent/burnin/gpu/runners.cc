#include "agent/burnin/gpu/runners.h"

namespace muster::burnin {

absl::Span<const CheckRunner> GpuRunners() { return {}; }

}  // namespace muster::burnin
