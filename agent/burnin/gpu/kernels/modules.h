// The PTX texts embedded in muster-burnin, and the choice of a kernel for a GPU and its driver.
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
  // For GPUs of this compute capability alone: "sm_90a".
  bool exact = false;

  // The CUDA version, in the form of cuDriverGetVersion(), that a driver must support to compile
  // it.
  int min_driver() const;
};

absl::Span<const PtxModule> PtxModules();
// REQUIRES: the name is in the table.
const PtxModule& FindPtxModule(absl::string_view name);

// A kernel that computes C = A · Bᵀ; its parameters are A, B, C, columns and depth. The grid has a
// block for each tile, or, of a kernel with shared memory of its own, a block for each
// multiprocessor, which computes tile after tile; A and B are then TensorMaps, whose boxes have
// `rows` and `columns` rows, and C is square.
struct GemmKernel {
  kernels::Element type;
  absl::string_view name;    // of the entry point: "gemm_f16_sm80"
  absl::string_view module;  // PtxModule::name
  int rows, columns;         // of C that a block computes at a time
  int threads;               // per block
  bool tensor;               // on tensor cores
  int shared_bytes = 0;      // that the launch asks for
  // A compute capability that runs it without the units for `type`, so that it would measure
  // others; 0: none.
  int emulated_on = 0;
};

absl::Span<const GemmKernel> GemmKernels();
// The fastest kernel that multiplies `type` and runs on the GPU with this driver. Unimplemented:
// the GPU cannot multiply this type, or only with a later driver; the message says which.
absl::StatusOr<const GemmKernel*> ChooseGemmKernel(kernels::Element type, int capability,
                                                   int driver);

// Rows, columns and depth of matrices for every kernel are multiples of this.
inline constexpr int kGemmGranule = 128;

// "fp16" and back.
absl::string_view ElementName(kernels::Element type);
absl::StatusOr<kernels::Element> ElementByName(absl::string_view name);

}  // namespace muster::burnin
