// Engines that multiply matrices on a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/burnin/gpu/driver/cuda_context.h"
#include "agent/burnin/gpu/kernels/element.h"
#include "agent/burnin/gpu/kernels/launcher.h"

namespace muster::burnin {

// C = A · Bᵀ for square matrices in row-major order. Gives the same bits every time on GPUs of one
// model.
class GemmEngine {
 public:
  virtual ~GemmEngine() = default;
  // Enqueues it. `size` is a multiple of kGemmGranule.
  virtual absl::Status Multiply(cuda::DevicePointer a, cuda::DevicePointer b, cuda::DevicePointer c,
                                uint64_t size, cuda::Stream stream) = 0;
  // Names what determines the bits: "own kernel gemm_f16_sm75", "cublas 12.4.5".
  virtual std::string Tool() const = 0;
  // Whether it is meant for tensor cores, on which its peak rate depends.
  virtual bool tensor() const = 0;
  // The size at which it is to be measured: it fills the largest GPU, and the comparison of a
  // result costs little beside it.
  virtual uint64_t BestSize() const = 0;
};

// The launcher must outlive it. Unimplemented: GPU or driver cannot do `type`.
absl::StatusOr<std::unique_ptr<GemmEngine>> MakeOwnEngine(KernelLauncher& kernels,
                                                          kernels::Element type);

// BestSize() of most engines.
uint64_t UsualSize(kernels::Element type, bool tensor);

// Bytes of an element of C.
uint64_t SumBytes(kernels::Element type);
// Exponent bits of an element of C; 0: an integer.
uint64_t SumExponentMask(kernels::Element type);

}  // namespace muster::burnin
