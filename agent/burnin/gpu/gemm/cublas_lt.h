// cublasLt, the part of cuBLAS that multiplies FP8.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/gpu/gemm/engine.h"

namespace muster::burnin {

// The context must outlive it. By the newest of libcublasLt.so.13, .12 and .11 that suits the
// driver. Unimplemented: not on this GPU. FailedPrecondition: none of them exists or suits the
// driver.
absl::StatusOr<std::unique_ptr<GemmEngine>> MakeFp8LibraryEngine(const CudaContext& context);

// What a cublasStatus_t means; `function` is for the message. Unimplemented: the library is not
// meant for this product or GPU; FailedPrecondition: not for the driver; Internal: it failed on the
// GPU.
absl::Status CublasStatus(int code, absl::string_view function);

}  // namespace muster::burnin
