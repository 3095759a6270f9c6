// NCCL, NVIDIA's library of collectives, if the node has it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/burnin/gpu/collective/nccl_abi.h"
#include "agent/burnin/gpu/driver/cuda_abi.h"
#include "agent/burnin/gpu/driver/dynamic_library.h"

namespace muster::burnin {

inline constexpr char kNcclLibrary[] = "libnccl.so.2";

// Errors: NotFound without the library, FailedPrecondition if it cannot be loaded, Unimplemented if
// it lacks a function, otherwise Internal with its message. Calls may block on a sick GPU or link.
// Not thread-safe.
class Nccl {
 public:
  static absl::StatusOr<std::unique_ptr<Nccl>> Load(const std::string& library = kNcclLibrary);

  // "nccl 2.19.3".
  absl::StatusOr<std::string> Tool() const;
  // One communicator for each device, by CUDA's ordinals; all in this process.
  absl::StatusOr<std::vector<void*>> Connect(const std::vector<cuda::Device>& devices) const;
  void Disconnect(void* communicator) const;

  struct Part {
    void* communicator;
    cuda::DevicePointer from, to;
    cuda::Stream stream;
  };
  // Enqueues on each stream: every `to` becomes the sum of all `from`, `count` FP32 numbers each.
  absl::Status AllReduce(const std::vector<Part>& parts, size_t count) const;

 private:
  Nccl() = default;
  absl::Status ToStatus(int code, const char* function) const;

  nccl::Functions functions_;
};

}  // namespace muster::burnin
