// The checks of each part of the machine, for the table of checks.cc.
#pragma once

#include "absl/types/span.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

absl::Span<const CheckRunner> GpuRunners();
// The checks of the network.
absl::Span<const CheckRunner> NicRunners();
// The checks of everything else: processors, memory, disks, the clock, Slurm's view.
absl::Span<const CheckRunner> SystemRunners();

}  // namespace muster::burnin
