// A GPU ready for work: memory, streams, events and kernels of one CUDA context.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/burnin/gpu/driver/cuda_driver.h"
#include "agent/burnin/gpu/kernels/hopper/tensor_map.h"

namespace muster::burnin {

class CudaContext;

// Owns a handle that a context has made; the destructor gives it back. Movable; the context must
// outlive it.
template <typename Handle, int (*Free)(const CudaContext&, Handle)>
class CudaOwned {
 public:
  CudaOwned() = default;
  CudaOwned(const CudaContext* context, Handle handle) : context_(context), handle_(handle) {}
  CudaOwned(CudaOwned&& other) noexcept
      : context_(std::exchange(other.context_, nullptr)), handle_(other.handle_) {}
  CudaOwned& operator=(CudaOwned&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudaOwned() {
    if (context_ != nullptr) Free(*context_, handle_);
  }
  Handle get() const { return handle_; }
  explicit operator bool() const { return context_ != nullptr; }

 private:
  const CudaContext* context_ = nullptr;
  Handle handle_ = {};
};

int FreeDeviceMemory(const CudaContext& context, cuda::DevicePointer memory);
int FreeHostMemory(const CudaContext& context, void* memory);
int FreeStream(const CudaContext& context, cuda::Stream stream);
int FreeEvent(const CudaContext& context, cuda::Event event);
int FreeModule(const CudaContext& context, cuda::Module module);

using DeviceMemory = CudaOwned<cuda::DevicePointer, FreeDeviceMemory>;
using HostMemory = CudaOwned<void*, FreeHostMemory>;  // page-locked
using CudaStream = CudaOwned<cuda::Stream, FreeStream>;
using CudaEvent = CudaOwned<cuda::Event, FreeEvent>;
using CudaModule = CudaOwned<cuda::Module, FreeModule>;

struct LaunchShape {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
};

// The device's primary context, which libraries such as cuBLAS share. Its methods make it current
// in the calling thread themselves. Thread-safe.
class CudaContext {
 public:
  static absl::StatusOr<std::unique_ptr<CudaContext>> Create(const CudaDriver& driver,
                                                             cuda::Device device);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const CudaDriver& driver() const { return driver_; }
  cuda::Device device() const { return device_; }
  cuda::Context handle() const { return context_; }
  // For calls that bypass this class.
  absl::Status MakeCurrent() const;

  struct MemoryInfo {
    size_t free = 0, total = 0;  // bytes
  };
  absl::StatusOr<MemoryInfo> Memory() const;
  absl::StatusOr<DeviceMemory> Allocate(size_t bytes) const;
  absl::StatusOr<HostMemory> AllocateHost(size_t bytes) const;
  absl::StatusOr<CudaStream> CreateStream() const;
  absl::StatusOr<CudaEvent> CreateEvent() const;

  // A matrix of `rows` rows of `row_bytes`, both multiples of 128, for the copy engine of Hopper:
  // which copies 128 bytes of `box_rows` rows at a time, up to 256, in the layout that OperandAt()
  // of kernels/hopper/instructions.h describes. Unimplemented: the driver is older than CUDA 12.
  absl::StatusOr<kernels::TensorMap> MapMatrix(cuda::DevicePointer matrix, uint64_t row_bytes,
                                               uint64_t rows, unsigned box_rows) const;

  // A null stream is the default one. Host memory of an asynchronous copy must stay valid.
  absl::Status CopyToDevice(cuda::DevicePointer to, const void* from, size_t bytes,
                            cuda::Stream stream) const;
  absl::Status CopyToHost(void* to, cuda::DevicePointer from, size_t bytes,
                          cuda::Stream stream) const;
  absl::Status CopyOnDevice(cuda::DevicePointer to, cuda::DevicePointer from, size_t bytes,
                            cuda::Stream stream) const;
  // Copies from this GPU to another, directly if peer access is enabled, else through the host.
  absl::Status CopyToPeer(const CudaContext& peer, cuda::DevicePointer to, cuda::DevicePointer from,
                          size_t bytes, cuda::Stream stream) const;
  absl::Status Fill(cuda::DevicePointer memory, unsigned char value, size_t bytes,
                    cuda::Stream stream) const;
  // Unimplemented if the two have no direct path; it is not an error if access is enabled already.
  absl::Status EnablePeerAccess(const CudaContext& peer) const;
  // Gives the path back, of which a GPU may have only eight at a time. It is not an error if access
  // is not enabled.
  absl::Status DisablePeerAccess(const CudaContext& peer) const;

  // `ptx`: the text, which the driver compiles for this GPU; the error has the compiler's message.
  absl::StatusOr<CudaModule> LoadModule(const std::string& ptx) const;
  absl::StatusOr<cuda::Function> FindFunction(const CudaModule& module, const char* name) const;
  // Above 48 KiB of shared memory a kernel needs permission for so much.
  absl::Status AllowSharedMemory(cuda::Function function, size_t bytes) const;
  // `arguments` holds a pointer to each argument.
  absl::Status Launch(cuda::Function function, const LaunchShape& shape, void** arguments,
                      cuda::Stream stream) const;

  absl::Status Record(const CudaEvent& event, cuda::Stream stream) const;
  // Waits for both. The driver's resolution is half a microsecond.
  absl::StatusOr<absl::Duration> Elapsed(const CudaEvent& from, const CudaEvent& to) const;
  // False: it has not happened yet.
  absl::StatusOr<bool> IsDone(const CudaEvent& event) const;
  // Waits for one stream, or for all.
  absl::Status Synchronize(cuda::Stream stream) const;
  absl::Status Synchronize() const;

 private:
  CudaContext(const CudaDriver& driver, cuda::Device device, cuda::Context context)
      : driver_(driver), device_(device), context_(context) {}

  const CudaDriver& driver_;
  const cuda::Device device_;
  const cuda::Context context_;
};

}  // namespace muster::burnin
