// libcuda.so.1 of the fake: errors, devices and contexts.
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "agent/burnin/gpu/driver/nvml_abi.h"
#include "tests/fakes/nvidia/cuda_usage.h"

namespace muster::fake_nvidia {
namespace {

namespace nvml = burnin::nvml;

// A GPU counts as busy for this long after its last work, as it appears under polling.
constexpr double kBusyTail_s = 0.4;
// As many as a GPU reaches over PCIe at a time ("CUDA C++ Programming Guide", peer-to-peer memory
// access: "on non-NVSwitch enabled systems, each device can support a system-wide maximum of eight
// peer connections").
constexpr int kMaxPeers = 8;

void* ContextOf(int gpu) { return reinterpret_cast<void*>(static_cast<intptr_t>(gpu) + 1); }
int GpuOf(void* context) { return static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1; }

struct ErrorRow {
  int code;
  const char* name;
  const char* text;
};
constexpr ErrorRow kErrors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {711, "CUDA_ERROR_TOO_MANY_PEERS", "peer mapping resources exhausted"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};
const ErrorRow& ErrorOf(int code) {
  const auto* found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                   [code](const ErrorRow& row) { return row.code == code; });
  return found != std::end(kErrors) ? *found : kErrors[std::size(kErrors) - 1];
}

}  // namespace

int AttributeOf(const Gpu& gpu, int attribute) {
  const Preset& preset = *gpu.preset;
  switch (attribute) {
    case cuda::kMaxThreadsPerBlock:
      return 1024;
    case cuda::kMaxSharedMemoryPerBlock:
      return 49152;
    case cuda::kWarpSize:
      return 32;
    case cuda::kClockRateKhz:
      return static_cast<int>(preset.sm_clock_mhz * 1000);
    case cuda::kMultiprocessorCount:
      return preset.multiprocessors;
    case cuda::kMemoryClockRateKhz:
      return static_cast<int>(preset.memory_clock_mhz * 1000);
    case cuda::kMemoryBusWidthBits:
      return static_cast<int>(preset.memory_bus_bits);
    case cuda::kL2CacheBytes:
      return 4 << 20;
    case cuda::kComputeCapabilityMajor:
      return preset.major;
    case cuda::kComputeCapabilityMinor:
      return preset.minor;
    case cuda::kMaxSharedMemoryPerBlockOptin:
      return preset.major >= 9   ? 232448
             : preset.major == 8 ? 101376
             : preset.major == 7 ? 65536
                                 : 49152;
    default:
      return 0;
  }
}

EXPORT void muster_fake_nvidia_activity(int gpu, Activity* activity) {
  Usage& usage = TheUsage();
  const std::lock_guard<std::mutex> lock(usage.mutex);
  *activity = Activity();
  if (usage.started) activity->since_first_context_s = SecondsSince(usage.first_context);
  activity->has_context = usage.contexts[gpu] > 0;
  const auto last = usage.last_work.find(gpu);
  activity->has_worked = last != usage.last_work.end();
  activity->busy = last != usage.last_work.end() &&
                   (usage.working[gpu] > 0 || SecondsSince(last->second) < kBusyTail_s);
}

EXPORT int cuInit(unsigned) {
  HangIfTold("cuInit", -1);
  return CurrentWorld()->cuda_init;
}
EXPORT int cuDriverGetVersion(int* version) {
  *version = CurrentWorld()->cuda_version;
  return cuda::kSuccess;
}
EXPORT int cuGetErrorName(int code, const char** name) {
  *name = ErrorOf(code).name;
  return cuda::kSuccess;
}
EXPORT int cuGetErrorString(int code, const char** text) {
  *text = ErrorOf(code).text;
  return cuda::kSuccess;
}

EXPORT int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(CurrentWorld()->gpus.size());
  return cuda::kSuccess;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
  return OnGpu("cuDeviceGet", ordinal, [&](const Gpu&, const World&) {
    *device = ordinal;
    return static_cast<int>(cuda::kSuccess);
  });
}
EXPORT int cuDeviceGetName(char* name, int size, int device) {
  return OnGpu("cuDeviceGetName", device, [&](const Gpu& gpu, const World&) {
    std::snprintf(name, static_cast<size_t>(size), "%s", gpu.name.c_str());
    return static_cast<int>(cuda::kSuccess);
  });
}
EXPORT int cuDeviceGetByPCIBusId(int* device, const char* address) {
  const std::shared_ptr<const World> world = CurrentWorld();
  for (size_t i = 0; i < world->gpus.size(); ++i) {
    if (world->gpus[i].pci_address != address || IsLost(world->gpus[i])) continue;
    *device = static_cast<int>(i);
    return cuda::kSuccess;
  }
  return cuda::kInvalidDevice;
}
EXPORT int cuDeviceGetPCIBusId(char* address, int size, int device) {
  return OnGpu("cuDeviceGetPCIBusId", device, [&](const Gpu& gpu, const World&) {
    std::snprintf(address, static_cast<size_t>(size), "%s", gpu.pci_address.c_str());
    return static_cast<int>(cuda::kSuccess);
  });
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return OnGpu("cuDeviceGetAttribute", device, [&](const Gpu& gpu, const World&) {
    *value = AttributeOf(gpu, attribute);
    return static_cast<int>(cuda::kSuccess);
  });
}
EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  return OnGpu("cuDeviceTotalMem_v2", device, [&](const Gpu& gpu, const World&) {
    *bytes = gpu.memory_bytes;
    return static_cast<int>(cuda::kSuccess);
  });
}
EXPORT int cuDeviceCanAccessPeer(int* can, int device, int) {
  return OnGpu("cuDeviceCanAccessPeer", device, [&](const Gpu& gpu, const World&) {
    *can = gpu.peer_access;
    return static_cast<int>(cuda::kSuccess);
  });
}

EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  return OnGpu("cuDevicePrimaryCtxRetain", device, [&](const Gpu& gpu, const World&) -> int {
    if (gpu.compute_mode == nvml::kComputeProhibited ||
        (gpu.compute_mode == nvml::kComputeExclusiveProcess && !gpu.processes.empty()))
      return cuda::kDeviceUnavailable;
    if (gpu.context_error != 0) return gpu.context_error;
    Usage& usage = TheUsage();
    const std::lock_guard<std::mutex> lock(usage.mutex);
    if (!usage.started) usage.first_context = SteadyClock::now();
    usage.started = true;
    ++usage.contexts[device];
    *context = ContextOf(device);
    return cuda::kSuccess;
  });
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  Usage& usage = TheUsage();
  const std::lock_guard<std::mutex> lock(usage.mutex);
  --usage.contexts[device];
  return cuda::kSuccess;
}
EXPORT int cuDevicePrimaryCtxRelease(int device) { return cuDevicePrimaryCtxRelease_v2(device); }
EXPORT int cuCtxSetCurrent(void* context) {
  current_gpu = GpuOf(context);
  return cuda::kSuccess;
}
EXPORT int cuCtxSynchronize() {
  return InContext("cuCtxSynchronize",
                   [](const Gpu&, const World&) { return static_cast<int>(cuda::kSuccess); });
}
EXPORT int cuCtxEnablePeerAccess(void* peer, unsigned) {
  return InContext("cuCtxEnablePeerAccess", [&](const Gpu& gpu, const World&) -> int {
    if (!gpu.peer_access) return cuda::kPeerAccessUnsupported;
    Usage& usage = TheUsage();
    const std::lock_guard<std::mutex> lock(usage.mutex);
    if (usage.peers.count({current_gpu, GpuOf(peer)}) > 0) return cuda::kPeerAccessAlreadyEnabled;
    if (std::count_if(usage.peers.begin(), usage.peers.end(), [](const std::pair<int, int>& pair) {
          return pair.first == current_gpu;
        }) >= kMaxPeers)
      return cuda::kTooManyPeers;
    usage.peers.insert({current_gpu, GpuOf(peer)});
    return cuda::kSuccess;
  });
}
EXPORT int cuCtxDisablePeerAccess(void* peer) {
  return InContext("cuCtxDisablePeerAccess", [&](const Gpu&, const World&) -> int {
    Usage& usage = TheUsage();
    const std::lock_guard<std::mutex> lock(usage.mutex);
    return usage.peers.erase({current_gpu, GpuOf(peer)}) > 0 ? cuda::kSuccess
                                                             : cuda::kPeerAccessNotEnabled;
  });
}

}  // namespace muster::fake_nvidia
