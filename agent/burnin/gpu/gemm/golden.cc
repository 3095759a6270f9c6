#include "agent/burnin/gpu/gemm/golden.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "agent/burnin/gpu/number.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

using kernels::Element;

// How far a sum may be off, as a fraction of the typical sum. FP32 sums of a few thousand products
// lose some 1e-5 of it, tensor cores ten times that because they truncate; those of Hopper keep
// only about 14 bits when they add FP8. A wrong product is off by about 1.
double Tolerance(Element type) {
  switch (type) {
    case Element::kS8:
      return 0;
    case Element::kF64:
      return 1e-10;
    case Element::kF32:
      return 1e-3;
    case Element::kE4m3:
      return 0.1;
    default:
      return 1e-2;
  }
}

struct HostSum {
  double sum = 0;
  double squares = 0;
};

HostSum Sum(const GoldenMatrices& matrices, uint64_t row, uint64_t column) {
  HostSum out;
  for (uint64_t k = 0; k < matrices.size; ++k) {
    const auto at = [&](uint64_t seed, uint64_t line) {
      return ValueOf(matrices.type,
                     kernels::ElementBits(matrices.type, seed, line * matrices.size + k));
    };
    const double product = at(matrices.seed_a, row) * at(matrices.seed_b, column);
    out.sum += product;
    out.squares += product * product;
  }
  return out;
}

}  // namespace

double SumValue(Element type, uint64_t bits) {
  if (type == Element::kF64) return FromF64(bits);
  if (type == Element::kS8) return static_cast<int32_t>(bits);
  return FromF32(static_cast<uint32_t>(bits));
}

absl::StatusOr<std::vector<std::string>> CheckGolden(
    const GoldenMatrices& matrices,
    const std::function<absl::StatusOr<uint64_t>(uint64_t index)>& bits_at) {
  std::vector<std::string> wrong;
  for (uint64_t sample = 0; sample < kGoldenSamples; ++sample) {
    const uint64_t index = kernels::RandomWord(matrices.seed_a ^ matrices.seed_b, sample) %
                           (matrices.size * matrices.size);
    ASSIGN_OR_RETURN(const uint64_t bits, bits_at(index));
    const uint64_t row = index / matrices.size, column = index % matrices.size;
    const HostSum should = Sum(matrices, row, column);
    const double is = SumValue(matrices.type, bits);
    // The root of the sum of squares is the typical magnitude of a sum of so many random signs.
    const double allowed = Tolerance(matrices.type) * std::sqrt(should.squares);
    if (std::fabs(is - should.sum) <= allowed) continue;  // false for NaN
    wrong.push_back(absl::StrFormat("row %d, column %d: %.9g instead of %.9g (± %.2g)", row, column,
                                    is, should.sum, allowed));
  }
  return wrong;
}

}  // namespace muster::burnin
