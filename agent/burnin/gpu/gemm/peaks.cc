#include "agent/burnin/gpu/gemm/peaks.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"

namespace muster::burnin {
namespace {

using kernels::Element;

// From the vendor's architecture white papers; each, times multiprocessors and boost clock, is the
// figure of the data sheet, for instance 108 × 1.41 GHz × 2048 = 312 TFLOPS for A100.
struct PeakRow {
  int capability;
  absl::string_view model;  // whole words of the name; the first row that fits counts
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
    // The export models of this capability have fewer units than their data sheets divide up
    // into: H20 in all types, H800 in FP64.
    {90, "H20", Element::kF32, false, 0},
    {90, "H20", Element::kF64, false, 0},
    {90, "H20", Element::kF64, true, 0},
    {90, "H20", Element::kF16, true, 0},
    {90, "H20", Element::kBf16, true, 0},
    {90, "H20", Element::kTf32, true, 0},
    {90, "H20", Element::kE4m3, true, 0},
    {90, "H20", Element::kS8, true, 0},
    {90, "H800", Element::kF64, false, 0},
    {90, "H800", Element::kF64, true, 0},
    {90, "", Element::kF32, false, 256},
    {90, "", Element::kF64, false, 128},
    {90, "", Element::kF64, true, 256},
    {90, "", Element::kF16, true, 4096},
    {90, "", Element::kBf16, true, 4096},
    {90, "", Element::kTf32, true, 2048},
    {90, "", Element::kE4m3, true, 8192},
    {90, "", Element::kS8, true, 8192},
    // Data sheet of GB200 NVL72 and HGX B200: half of the sparse figures, 148 × 1.86 GHz.
    {100, "", Element::kF32, false, 256},
    {100, "", Element::kF64, false, 128},
    {100, "", Element::kF64, true, 128},
    {100, "", Element::kF16, true, 8192},
    {100, "", Element::kBf16, true, 8192},
    {100, "", Element::kTf32, true, 4096},
    {100, "", Element::kE4m3, true, 16384},
    {100, "", Element::kS8, true, 16384},
    // B300 has the same units for these, and few for FP64 and INT8.
    {103, "", Element::kF32, false, 256},
    {103, "", Element::kF16, true, 8192},
    {103, "", Element::kBf16, true, 8192},
    {103, "", Element::kTf32, true, 4096},
    {103, "", Element::kE4m3, true, 16384},
    // As 8.9, by the white papers of both.
    {120, "", Element::kF32, false, 256},
    {120, "", Element::kF64, false, 4},
    {120, "GeForce", Element::kF16, true, 512},
    {120, "GeForce", Element::kBf16, true, 512},
    {120, "GeForce", Element::kTf32, true, 256},
    {120, "GeForce", Element::kE4m3, true, 1024},
    {120, "", Element::kF16, true, 1024},
    {120, "", Element::kBf16, true, 1024},
    {120, "", Element::kTf32, true, 512},
    {120, "", Element::kE4m3, true, 2048},
    {120, "", Element::kS8, true, 2048},
};

// "H20" is in "NVIDIA H20" and not in "NVIDIA H200"; "" is in every name.
bool HasWords(absl::string_view model, absl::string_view words) {
  return words.empty() ||
         absl::StrContains(absl::StrCat(" ", absl::StrReplaceAll(model, {{"-", " "}}), " "),
                           absl::StrCat(" ", words, " "));
}

}  // namespace

std::optional<double> OperationsPerClock(int capability, absl::string_view model, Element type,
                                         bool tensor) {
  for (const PeakRow& row : kPeaks) {
    if (row.capability != capability || row.type != type || row.tensor != tensor) continue;
    if (!HasWords(model, row.model)) continue;
    return row.operations > 0 ? std::optional<double>(row.operations) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace muster::burnin
