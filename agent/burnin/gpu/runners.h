// The GPU checks, for the table of checks.cc.
#pragma once

#include "absl/types/span.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

absl::Span<const CheckRunner> GpuRunners();

}  // namespace muster::burnin
