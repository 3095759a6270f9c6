// cuBLAS, NVIDIA's matrix library, if the node has it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "agent/burnin/gpu/driver/dynamic_library.h"
#include "agent/burnin/gpu/gemm/engine.h"

namespace muster::burnin {

// libcublas.so.13, .12 or .11, whichever exists. Thread-safe.
class Cublas {
 public:
  // NotFound: none of them exists.
  static absl::StatusOr<std::unique_ptr<Cublas>> Load();

  // The context and this object must outlive it. Unimplemented: cublasGemmEx() cannot do `type`
  // (fp8), or not on this GPU. FailedPrecondition: the library does not suit the driver.
  absl::StatusOr<std::unique_ptr<GemmEngine>> MakeEngine(const CudaContext& context,
                                                         kernels::Element type) const;

 private:
  explicit Cublas(DynamicLibrary library) : library_(std::move(library)) {}

  DynamicLibrary library_;
};

}  // namespace muster::burnin
