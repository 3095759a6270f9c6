#include "agent/burnin/gpu/gemm/peaks.h"

#include "absl/strings/match.h"
#include "absl/types/span.h"

namespace muster::burnin {
namespace {

using kernels::Element;

// From the vendor's architecture white papers; each, times multiprocessors and boost clock, is the
// figure of the data sheet, for instance 108 × 1.41 GHz × 2048 = 312 TFLOPS for A100.
struct PeakRow {
  int capability;
  absl::string_view model;  // part of the name; the first row that fits counts
  Element type;
  bool tensor;
  double operations;
};

constexpr PeakRow kPeaks[] = {
    {60, "", Element::kF32, false, 128},
    {60, "", Element::kF64, false, 64},
    {61, "", Element::kF32, false, 256},
    {61, "", Element::kF64, false, 8},
    {61, "", Element::kS8, false, 1024},
    {70, "", Element::kF32, false, 128},
    {70, "", Element::kF64, false, 64},
    {70, "", Element::kS8, false, 512},
    {70, "", Element::kF16, true, 1024},
    {75, "", Element::kF32, false, 128},
    {75, "", Element::kF64, false, 4},
    {75, "", Element::kS8, false, 512},
    // Consumer cards add in FP32 at half the rate; GTX cards of this capability have no such units.
    {75, "GeForce RTX", Element::kF16, true, 512},
    {75, "GeForce RTX", Element::kS8, true, 2048},
    {75, "GeForce", Element::kF16, true, 0},
    {75, "GeForce", Element::kS8, true, 0},
    {75, "", Element::kF16, true, 1024},
    {75, "", Element::kS8, true, 2048},
    {80, "", Element::kF32, false, 128},
    {80, "", Element::kF64, false, 64},
    {80, "", Element::kF64, true, 128},
    {80, "", Element::kF16, true, 2048},
    {80, "", Element::kBf16, true, 2048},
    {80, "", Element::kTf32, true, 1024},
    {80, "", Element::kS8, true, 4096},
    {86, "", Element::kF32, false, 256},
    {86, "", Element::kF64, false, 4},
    {86, "GeForce", Element::kF16, true, 512},
    {86, "GeForce", Element::kBf16, true, 512},
    {86, "GeForce", Element::kTf32, true, 256},
    {86, "", Element::kF16, true, 1024},
    {86, "", Element::kBf16, true, 1024},
    {86, "", Element::kTf32, true, 512},
    {86, "", Element::kS8, true, 2048},
    {89, "", Element::kF32, false, 256},
    {89, "", Element::kF64, false, 4},
    {89, "GeForce", Element::kF16, true, 512},
    {89, "GeForce", Element::kBf16, true, 512},
    {89, "GeForce", Element::kTf32, true, 256},
    {89, "GeForce", Element::kE4m3, true, 1024},
    {89, "", Element::kF16, true, 1024},
    {89, "", Element::kBf16, true, 1024},
    {89, "", Element::kTf32, true, 512},
    {89, "", Element::kE4m3, true, 2048},
    {89, "", Element::kS8, true, 2048},
    {90, "", Element::kF32, false, 256},
    {90, "", Element::kF64, false, 128},
    {90, "", Element::kF64, true, 256},
    {90, "", Element::kF16, true, 4096},
    {90, "", Element::kBf16, true, 4096},
    {90, "", Element::kTf32, true, 2048},
    {90, "", Element::kE4m3, true, 8192},
    {90, "", Element::kS8, true, 8192},
};

}  // namespace

std::optional<double> OperationsPerClock(int capability, absl::string_view model, Element type,
                                         bool tensor) {
  for (const PeakRow& row : kPeaks) {
    if (row.capability != capability || row.type != type || row.tensor != tensor) continue;
    if (!absl::StrContains(model, row.model)) continue;
    return row.operations > 0 ? std::optional<double>(row.operations) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace muster::burnin
