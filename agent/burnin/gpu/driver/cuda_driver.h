// NVIDIA's CUDA driver library, bound at run time, and its devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/gpu/driver/cuda_abi.h"

namespace muster::burnin {

inline constexpr char kCudaLibrary[] = "libcuda.so.1";

// Errors of all CUDA calls: ResourceExhausted without memory, DataLoss for an uncorrectable memory
// error, FailedPrecondition for a state of the node's software, with its remedy, Unimplemented if a
// kernel cannot run on the GPU or driver, otherwise Internal; each names the function. Whether the
// GPU is still there, NVML knows better. Any call may block on a sick GPU. Thread-safe.
class CudaDriver {
 public:
  // Loads and initialises. NotFound: no such library, or no GPU; Unimplemented: the library is
  // older than CUDA 9; FailedPrecondition: library and kernel module do not belong together.
  static absl::StatusOr<std::unique_ptr<CudaDriver>> Load(
      const std::string& library = kCudaLibrary);

  // 12040 for CUDA 12.4.
  int version() const { return version_; }
  const cuda::Functions& functions() const { return functions_; }

  absl::StatusOr<int> DeviceCount() const;
  // Takes an address such as "0000:3b:00.0". NotFound: CUDA does not see it, for instance because
  // of CUDA_VISIBLE_DEVICES.
  absl::StatusOr<cuda::Device> DeviceByPciAddress(const std::string& address) const;
  absl::StatusOr<int> Attribute(cuda::Device device, cuda::Attribute attribute) const;
  // 75 for compute capability 7.5.
  absl::StatusOr<int> ComputeCapability(cuda::Device device) const;
  absl::StatusOr<bool> CanAccessPeer(cuda::Device device, cuda::Device peer) const;

  // OK for kSuccess; `function` is for the message.
  absl::Status ToStatus(int code, absl::string_view function) const;

 private:
  CudaDriver() = default;

  cuda::Functions functions_;
  int version_ = 0;
};

}  // namespace muster::burnin
