// The kernels of muster-burnin on one GPU.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/gpu/driver/cuda_context.h"
#include "agent/burnin/gpu/kernels/modules.h"
#include "agent/burnin/gpu/kernels/report.h"
#include "common/base/status.h"

namespace muster::burnin {

// Compiles modules when they are first needed, which takes the driver up to a second each. For use
// by a single thread. The context must outlive it.
class KernelLauncher {
 public:
  explicit KernelLauncher(const CudaContext& context) : context_(context) {}

  const CudaContext& context() const { return context_; }

  // Enqueues a kernel whose parameters are exactly `arguments`: types and order must match the .cu
  // file.
  template <typename... Arguments>
  absl::Status Launch(absl::string_view module, absl::string_view kernel, const LaunchShape& shape,
                      cuda::Stream stream, const Arguments&... arguments) {
    ASSIGN_OR_RETURN(const cuda::Function function, Find(module, kernel));
    if (shape.shared_bytes > kFreeSharedBytes)
      RETURN_IF_ERROR(context_.AllowSharedMemory(function, shape.shared_bytes));
    // The driver only reads them.
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    return context_.Launch(function, shape, pointers, stream);
  }
  // For kernels that walk over memory: as many threads as keep the GPU busy.
  template <typename... Arguments>
  absl::Status Walk(absl::string_view module, absl::string_view kernel, cuda::Stream stream,
                    Arguments... arguments) {
    ASSIGN_OR_RETURN(const unsigned blocks, WalkingBlocks());
    return Launch(module, kernel, {.grid = {blocks, 1, 1}, .block = {256, 1, 1}}, stream,
                  arguments...);
  }

 private:
  // Every kernel may have so much.
  static constexpr unsigned kFreeSharedBytes = 48 << 10;

  absl::StatusOr<cuda::Function> Find(absl::string_view module, absl::string_view kernel);
  absl::StatusOr<unsigned> WalkingBlocks();

  const CudaContext& context_;
  std::map<std::string, CudaModule, std::less<>> modules_;
  std::map<std::string, cuda::Function, std::less<>> functions_;
  unsigned walking_blocks_ = 0;
};

// A Report in the memory of the GPU.
class DeviceReport {
 public:
  static absl::StatusOr<DeviceReport> Create(const CudaContext& context);

  cuda::DevicePointer pointer() const { return memory_.get(); }
  // Both wait for the work that the stream has queued.
  absl::StatusOr<kernels::Report> Read(cuda::Stream stream) const;
  absl::Status Clear(cuda::Stream stream) const;

 private:
  DeviceReport(const CudaContext& context, DeviceMemory memory)
      : context_(&context), memory_(std::move(memory)) {}

  const CudaContext* context_;
  DeviceMemory memory_;
};

}  // namespace muster::burnin
