// Peak rates of GPUs for matrix products.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "agent/burnin/gpu/kernels/element.h"

namespace muster::burnin {

// Floating-point (or integer) operations per clock of one multiprocessor, two for each product that
// is added to a sum; FP32 sums for FP16, BF16 and FP8. `tensor`: on tensor cores. nullopt: not
// known for this model.
std::optional<double> OperationsPerClock(int capability, absl::string_view model,
                                         kernels::Element type, bool tensor);

}  // namespace muster::burnin
