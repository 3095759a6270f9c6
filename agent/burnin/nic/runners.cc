#include "agent/burnin/nic/runners.h"

namespace muster::burnin {

absl::Span<const CheckRunner> NicRunners() { return {}; }

}  // namespace muster::burnin
