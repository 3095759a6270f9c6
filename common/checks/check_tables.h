// The parts of the catalogue, by what is tested. Each table is a file; see catalog.cc.
#pragma once

#include "absl/types/span.h"
#include "common/checks/catalog.h"

namespace muster::checks {

absl::Span<const CheckSpec> GpuChecks();
absl::Span<const CheckSpec> NicChecks();
absl::Span<const CheckSpec> SystemChecks();

}  // namespace muster::checks
