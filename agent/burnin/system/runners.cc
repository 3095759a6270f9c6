#include "agent/burnin/system/runners.h"

namespace muster::burnin {

absl::Span<const CheckRunner> SystemRunners() { return {}; }

}  // namespace muster::burnin
