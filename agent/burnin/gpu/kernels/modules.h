// The PTX texts that muster-burnin carries, and which of their kernels suits a GPU and its driver.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/burnin/gpu/kernels/element.h"

namespace muster::burnin {

// One .cu file as PTX.
struct PtxModule {
  absl::string_view name;  // "gemm_sm80"
  int capability;          // 80: for GPUs of compute capability 8.0 and later
  int ptx_version;         // 70: PTX ISA 7.0
  const char* text;

  // Version of CUDA, as cuDriverGetVersion() tells it, that a driver must support to compile it.
  int min_driver() const;
};

absl::Span<const PtxModule> PtxModules();
// The name is one of the table's.
const PtxModule& FindPtxModule(absl::string_view name);

// A kernel that computes C = A · Bᵀ; its parameters are A, B, C, columns and depth.
struct GemmKernel {
  kernels::Element type;
  absl::string_view name;    // of the entry: "gemm_f16_sm80"
  absl::string_view module;  // of PtxModule
  int tile;                  // rows and columns of C that a block makes
  int threads;               // of a block
  bool tensor;               // on tensor cores
};

absl::Span<const GemmKernel> GemmKernels();
// The fastest of those that multiply `type` and run on the GPU with this driver. Unimplemented: it
// cannot multiply this type, or only with a later driver; the message says which.
absl::StatusOr<const GemmKernel*> ChooseGemmKernel(kernels::Element type, int capability,
                                                   int driver);

// Rows, columns and depth of matrices for every kernel are multiples of this.
inline constexpr int kGemmGranule = 128;

// "fp16" and back.
absl::string_view ElementName(kernels::Element type);
absl::StatusOr<kernels::Element> ElementByName(absl::string_view name);

}  // namespace muster::burnin
