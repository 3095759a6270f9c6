// cuBLAS, NVIDIA's matrix library, if the node has it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/burnin/gpu/driver/dynamic_library.h"
#include "agent/burnin/gpu/gemm/engine.h"

namespace muster::burnin {

// Those of libcublas.so.13, .12 and .11 that exist. Thread-safe.
class Cublas {
 public:
  // NotFound: none of them exists.
  static absl::StatusOr<std::unique_ptr<Cublas>> Load();

  // The context and this object must outlive it. Unimplemented: the library cannot do `type` on
  // this GPU. FailedPrecondition: none of the libraries suits the driver. By the newest library
  // that does; fp8 by cublasLt.
  absl::StatusOr<std::unique_ptr<GemmEngine>> MakeEngine(const CudaContext& context,
                                                         kernels::Element type) const;

 private:
  explicit Cublas(std::vector<DynamicLibrary> libraries) : libraries_(std::move(libraries)) {}

  const std::vector<DynamicLibrary> libraries_;  // the newest first
};

}  // namespace muster::burnin
