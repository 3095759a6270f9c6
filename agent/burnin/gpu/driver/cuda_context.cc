#include "agent/burnin/gpu/driver/cuda_context.h"

#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

constexpr size_t kJitLogBytes = 8192;
// The width that the 128-byte swizzle is named after.
constexpr unsigned kBoxBytes = 128;

}  // namespace

// Makes the context current and calls the named function.
#define MUSTER_CUDA_CALL(member, ...)                                                         \
  do {                                                                                        \
    RETURN_IF_ERROR(MakeCurrent());                                                           \
    RETURN_IF_ERROR(driver_.ToStatus(driver_.functions().member(__VA_ARGS__), "cu" #member)); \
  } while (false)

int FreeDeviceMemory(const CudaContext& context, cuda::DevicePointer memory) {
  (void)context.MakeCurrent();
  return context.driver().functions().MemFree(memory);
}
int FreeHostMemory(const CudaContext& context, void* memory) {
  (void)context.MakeCurrent();
  return context.driver().functions().MemFreeHost(memory);
}
int FreeStream(const CudaContext& context, cuda::Stream stream) {
  (void)context.MakeCurrent();
  return context.driver().functions().StreamDestroy(stream);
}
int FreeEvent(const CudaContext& context, cuda::Event event) {
  (void)context.MakeCurrent();
  return context.driver().functions().EventDestroy(event);
}
int FreeModule(const CudaContext& context, cuda::Module module) {
  (void)context.MakeCurrent();
  return context.driver().functions().ModuleUnload(module);
}

absl::StatusOr<std::unique_ptr<CudaContext>> CudaContext::Create(const CudaDriver& driver,
                                                                 cuda::Device device) {
  cuda::Context context = nullptr;
  RETURN_IF_ERROR(driver.ToStatus(driver.functions().DevicePrimaryCtxRetain(&context, device),
                                  "cuDevicePrimaryCtxRetain"));
  return absl::WrapUnique(new CudaContext(driver, device, context));
}

CudaContext::~CudaContext() { driver_.functions().DevicePrimaryCtxRelease(device_); }

absl::Status CudaContext::MakeCurrent() const {
  return driver_.ToStatus(driver_.functions().CtxSetCurrent(context_), "cuCtxSetCurrent");
}

absl::StatusOr<CudaContext::MemoryInfo> CudaContext::Memory() const {
  MemoryInfo info;
  MUSTER_CUDA_CALL(MemGetInfo, &info.free, &info.total);
  return info;
}

absl::StatusOr<DeviceMemory> CudaContext::Allocate(size_t bytes) const {
  cuda::DevicePointer memory = 0;
  MUSTER_CUDA_CALL(MemAlloc, &memory, bytes);
  return DeviceMemory(this, memory);
}

absl::StatusOr<HostMemory> CudaContext::AllocateHost(size_t bytes) const {
  void* memory = nullptr;
  MUSTER_CUDA_CALL(MemHostAlloc, &memory, bytes, cuda::kHostAllocPortable);
  return HostMemory(this, memory);
}

absl::StatusOr<CudaStream> CudaContext::CreateStream() const {
  cuda::Stream stream = nullptr;
  MUSTER_CUDA_CALL(StreamCreate, &stream, cuda::kStreamNonBlocking);
  return CudaStream(this, stream);
}

absl::StatusOr<CudaEvent> CudaContext::CreateEvent() const {
  cuda::Event event = nullptr;
  MUSTER_CUDA_CALL(EventCreate, &event, 0);
  return CudaEvent(this, event);
}

absl::StatusOr<kernels::TensorMap> CudaContext::MapMatrix(cuda::DevicePointer matrix,
                                                          uint64_t row_bytes, uint64_t rows,
                                                          unsigned box_rows) const {
  if (driver_.functions().TensorMapEncodeTiled == nullptr)
    return absl::UnimplementedError("the driver has no cuTensorMapEncodeTiled");
  kernels::TensorMap map = {};
  const uint64_t sizes[] = {row_bytes, rows};
  const unsigned box[] = {kBoxBytes, box_rows};
  const unsigned steps[] = {1, 1};
  MUSTER_CUDA_CALL(TensorMapEncodeTiled, &map, cuda::kTensorMapBytes, 2,
                   reinterpret_cast<void*>(matrix), sizes, &row_bytes, box, steps,
                   cuda::kTensorMapNoInterleave, cuda::kTensorMapSwizzle128,
                   cuda::kTensorMapPromote256, cuda::kTensorMapFillZeros);
  return map;
}

absl::Status CudaContext::CopyToDevice(cuda::DevicePointer to, const void* from, size_t bytes,
                                       cuda::Stream stream) const {
  MUSTER_CUDA_CALL(MemcpyHtoDAsync, to, from, bytes, stream);
  return absl::OkStatus();
}

absl::Status CudaContext::CopyToHost(void* to, cuda::DevicePointer from, size_t bytes,
                                     cuda::Stream stream) const {
  MUSTER_CUDA_CALL(MemcpyDtoHAsync, to, from, bytes, stream);
  return absl::OkStatus();
}

absl::Status CudaContext::CopyOnDevice(cuda::DevicePointer to, cuda::DevicePointer from,
                                       size_t bytes, cuda::Stream stream) const {
  MUSTER_CUDA_CALL(MemcpyDtoDAsync, to, from, bytes, stream);
  return absl::OkStatus();
}

absl::Status CudaContext::CopyToPeer(const CudaContext& peer, cuda::DevicePointer to,
                                     cuda::DevicePointer from, size_t bytes,
                                     cuda::Stream stream) const {
  MUSTER_CUDA_CALL(MemcpyPeerAsync, to, peer.context_, from, context_, bytes, stream);
  return absl::OkStatus();
}

absl::Status CudaContext::Fill(cuda::DevicePointer memory, unsigned char value, size_t bytes,
                               cuda::Stream stream) const {
  MUSTER_CUDA_CALL(MemsetD8Async, memory, value, bytes, stream);
  return absl::OkStatus();
}

absl::Status CudaContext::EnablePeerAccess(const CudaContext& peer) const {
  RETURN_IF_ERROR(MakeCurrent());
  const int code = driver_.functions().CtxEnablePeerAccess(peer.context_, 0);
  if (code == cuda::kPeerAccessAlreadyEnabled) return absl::OkStatus();
  return driver_.ToStatus(code, "cuCtxEnablePeerAccess");
}

absl::Status CudaContext::DisablePeerAccess(const CudaContext& peer) const {
  RETURN_IF_ERROR(MakeCurrent());
  const int code = driver_.functions().CtxDisablePeerAccess(peer.context_);
  if (code == cuda::kPeerAccessNotEnabled) return absl::OkStatus();
  return driver_.ToStatus(code, "cuCtxDisablePeerAccess");
}

absl::StatusOr<CudaModule> CudaContext::LoadModule(const std::string& ptx) const {
  RETURN_IF_ERROR(MakeCurrent());
  std::vector<char> log(kJitLogBytes, '\0');
  int options[] = {cuda::kJitErrorLog, cuda::kJitErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(kJitLogBytes)};
  cuda::Module module = nullptr;
  const int code = driver_.functions().ModuleLoadDataEx(&module, ptx.c_str(), 2, options, values);
  log.back() = '\0';
  const absl::string_view words = absl::StripAsciiWhitespace(log.data());
  const absl::Status status = driver_.ToStatus(code, "cuModuleLoadDataEx");
  if (!status.ok())
    return absl::Status(status.code(),
                        absl::StrCat(status.message(), words.empty() ? "" : ": ", words));
  return CudaModule(this, module);
}

absl::StatusOr<cuda::Function> CudaContext::FindFunction(const CudaModule& module,
                                                         const char* name) const {
  RETURN_IF_ERROR(MakeCurrent());
  cuda::Function function = nullptr;
  RETURN_IF_ERROR(
      driver_.ToStatus(driver_.functions().ModuleGetFunction(&function, module.get(), name),
                       absl::StrCat("cuModuleGetFunction ", name)));
  return function;
}

absl::Status CudaContext::AllowSharedMemory(cuda::Function function, size_t bytes) const {
  MUSTER_CUDA_CALL(FuncSetAttribute, function, cuda::kFunctionMaxDynamicSharedBytes,
                   static_cast<int>(bytes));
  return absl::OkStatus();
}

absl::Status CudaContext::Launch(cuda::Function function, const LaunchShape& shape,
                                 void** arguments, cuda::Stream stream) const {
  MUSTER_CUDA_CALL(LaunchKernel, function, shape.grid[0], shape.grid[1], shape.grid[2],
                   shape.block[0], shape.block[1], shape.block[2], shape.shared_bytes, stream,
                   arguments, nullptr);
  return absl::OkStatus();
}

absl::Status CudaContext::Record(const CudaEvent& event, cuda::Stream stream) const {
  MUSTER_CUDA_CALL(EventRecord, event.get(), stream);
  return absl::OkStatus();
}

absl::StatusOr<absl::Duration> CudaContext::Elapsed(const CudaEvent& from,
                                                    const CudaEvent& to) const {
  MUSTER_CUDA_CALL(EventSynchronize, from.get());
  MUSTER_CUDA_CALL(EventSynchronize, to.get());
  float milliseconds = 0;
  MUSTER_CUDA_CALL(EventElapsedTime, &milliseconds, from.get(), to.get());
  return absl::Milliseconds(milliseconds);
}

absl::StatusOr<bool> CudaContext::IsDone(const CudaEvent& event) const {
  RETURN_IF_ERROR(MakeCurrent());
  const int code = driver_.functions().EventQuery(event.get());
  if (code == cuda::kNotReady) return false;
  RETURN_IF_ERROR(driver_.ToStatus(code, "cuEventQuery"));
  return true;
}

absl::Status CudaContext::Synchronize(cuda::Stream stream) const {
  MUSTER_CUDA_CALL(StreamSynchronize, stream);
  return absl::OkStatus();
}

absl::Status CudaContext::Synchronize() const {
  MUSTER_CUDA_CALL(CtxSynchronize);
  return absl::OkStatus();
}

#undef MUSTER_CUDA_CALL

}  // namespace muster::burnin
