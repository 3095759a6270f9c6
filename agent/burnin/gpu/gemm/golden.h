// Checks that a product is right at all, by comparing some of its elements with the host's own
// sums. A result that is compared only with itself hides an error that occurs every time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/burnin/gpu/kernels/element.h"

namespace muster::burnin {

// Number of elements that are checked, at random places.
inline constexpr int kGoldenSamples = 256;

struct GoldenMatrices {
  kernels::Element type = kernels::Element::kF32;
  uint64_t size = 0;
  uint64_t seed_a = 0, seed_b = 0;  // seeds for ElementBits()
};

// `bits_at` gives the bits of an element of C by its row-major index. Returns a sentence for each
// element that is further from the host's sum than the type's rounding allows; kS8 must be exact.
absl::StatusOr<std::vector<std::string>> CheckGolden(
    const GoldenMatrices& matrices,
    const std::function<absl::StatusOr<uint64_t>(uint64_t index)>& bits_at);

// The value of an element of C.
double SumValue(kernels::Element type, uint64_t bits);

}  // namespace muster::burnin
