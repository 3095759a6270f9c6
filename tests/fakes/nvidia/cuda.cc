// libcuda.so.1 of the fake: what is enqueued is done before the call returns.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/burnin/gpu/cuda_abi.h"
#include "tests/fakes/nvidia/device_memory.h"
#include "tests/fakes/nvidia/host_kernel.h"
#include "tests/fakes/nvidia/ptx.h"
#include "tests/fakes/nvidia/world.h"

namespace muster::fake_nvidia {
namespace {

namespace cuda = burnin::cuda;
using SteadyClock = std::chrono::steady_clock;

// A GPU counts as busy for so long after its last work, as one that is polled is seen.
constexpr double kBusyTail_s = 0.4;
constexpr size_t kMaxGpus = 64;

struct FakeModule {
  std::vector<std::string> entries;
};
struct FakeFunction {
  HostKernel kernel;
};
struct FakeEvent {
  SteadyClock::time_point at;
  bool recorded = false;
};

double SecondsSince(SteadyClock::time_point then) {
  return std::chrono::duration<double>(SteadyClock::now() - then).count();
}

// What this process has done with the GPUs.
struct Usage {
  std::mutex mutex;
  bool started = false;
  SteadyClock::time_point first_context;
  std::map<int, SteadyClock::time_point> last_work;
  std::map<int, int> contexts;
  std::map<int, uint64_t> launches;
  std::set<std::pair<int, int>> peers;
  int working[kMaxGpus] = {};
};
Usage& TheUsage() {
  static auto* const usage = new Usage;
  return *usage;
}

thread_local int current_gpu = -1;  // of the current context

double SinceFirstContext() {
  Usage& usage = TheUsage();
  const std::lock_guard<std::mutex> lock(usage.mutex);
  return usage.started ? SecondsSince(usage.first_context) : -1;
}

// Marks a GPU as busy while it lives.
class Working {
 public:
  explicit Working(int gpu) : gpu_(gpu) { Add(1); }
  ~Working() { Add(-1); }

 private:
  void Add(int count) {
    Usage& usage = TheUsage();
    const std::lock_guard<std::mutex> lock(usage.mutex);
    usage.working[gpu_] += count;
    usage.last_work[gpu_] = SteadyClock::now();
  }
  const int gpu_;
};

bool IsLost(const Gpu& gpu) {
  return gpu.lost_after_s == 0 || (gpu.lost_after_s > 0 && SinceFirstContext() >= gpu.lost_after_s);
}

void* ContextOf(int gpu) { return reinterpret_cast<void*>(static_cast<intptr_t>(gpu) + 1); }
int GpuOf(void* context) { return static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1; }

// A call about the GPU `index`.
template <typename Answer>
int OnGpu(const char* function, int index, Answer answer) {
  HangIfTold(function, index);
  const std::shared_ptr<const World> world = CurrentWorld();
  if (index < 0 || static_cast<size_t>(index) >= std::min(world->gpus.size(), kMaxGpus))
    return cuda::kInvalidDevice;
  const Gpu& gpu = world->gpus[index];
  if (IsLost(gpu)) return cuda::kUnknown;
  return answer(gpu, *world);
}

// A call that works in the current context.
template <typename Answer>
int InContext(const char* function, Answer answer) {
  if (current_gpu < 0) return cuda::kInvalidContext;
  return OnGpu(function, current_gpu, answer);
}

void SleepFor(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

bool IsDevice(cuda::DevicePointer pointer, size_t bytes) {
  return DeviceMemory::Instance().Covers(pointer, bytes);
}

void* Host(cuda::DevicePointer pointer) { return reinterpret_cast<void*>(pointer); }

// A copy in the current context, at the speed of the file when it crosses the bus.
int Copy(const char* function, void* to, const void* from, size_t bytes, bool crosses_bus,
         bool in_bounds) {
  return InContext(function, [&](const Gpu& gpu, const World&) -> int {
    if (!in_bounds) return cuda::kIllegalAddress;
    const Working working(current_gpu);
    DeviceMemory::Instance().FlipWhatIsDue(current_gpu, gpu.flips, SinceFirstContext(), 0);
    const SteadyClock::time_point start = SteadyClock::now();
    std::memmove(to, from, bytes);
    if (crosses_bus && gpu.copy_gbytes_per_s > 0)
      SleepFor(static_cast<double>(bytes) / (gpu.copy_gbytes_per_s * 1e9) - SecondsSince(start));
    return cuda::kSuccess;
  });
}

struct ErrorRow {
  int code;
  const char* name;
  const char* text;
};
constexpr ErrorRow kErrors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};
const ErrorRow& ErrorOf(int code) {
  const auto* found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                   [code](const ErrorRow& row) { return row.code == code; });
  return found != std::end(kErrors) ? *found : kErrors[std::size(kErrors) - 1];
}

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

int CheckPtx(const Ptx& ptx, const Gpu& gpu, const World& world) {
  const int capability = 10 * gpu.preset->major + gpu.preset->minor;
  if (ptx.target == 0) return cuda::kInvalidPtx;
  if (CudaVersionForPtx(ptx.version) > world.cuda_version) return cuda::kUnsupportedPtxVersion;
  const bool fits = ptx.exact_target ? capability == ptx.target : capability >= ptx.target;
  return fits ? cuda::kSuccess : cuda::kNoBinaryForGpu;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT Activity muster_fake_nvidia_activity(int gpu) {
  Usage& usage = TheUsage();
  const std::lock_guard<std::mutex> lock(usage.mutex);
  Activity activity;
  if (usage.started) activity.since_first_context_s = SecondsSince(usage.first_context);
  activity.has_context = usage.contexts[gpu] > 0;
  const auto last = usage.last_work.find(gpu);
  activity.busy = last != usage.last_work.end() &&
                  (usage.working[gpu] > 0 || SecondsSince(last->second) < kBusyTail_s);
  return activity;
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
  return OnGpu("cuDevicePrimaryCtxRetain", device, [&](const Gpu&, const World&) {
    Usage& usage = TheUsage();
    const std::lock_guard<std::mutex> lock(usage.mutex);
    if (!usage.started) usage.first_context = SteadyClock::now();
    usage.started = true;
    ++usage.contexts[device];
    *context = ContextOf(device);
    return static_cast<int>(cuda::kSuccess);
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
    return usage.peers.insert({current_gpu, GpuOf(peer)}).second ? cuda::kSuccess
                                                                 : cuda::kPeerAccessAlreadyEnabled;
  });
}

EXPORT int cuMemGetInfo_v2(size_t* free, size_t* total) {
  return InContext("cuMemGetInfo_v2", [&](const Gpu& gpu, const World&) {
    *total = gpu.memory_bytes;
    const uint64_t used = DeviceMemory::Instance().UsedBytes(current_gpu);
    *free = gpu.backing_bytes - std::min<uint64_t>(used, gpu.backing_bytes);
    return static_cast<int>(cuda::kSuccess);
  });
}
EXPORT int cuMemAlloc_v2(cuda::DevicePointer* pointer, size_t bytes) {
  return InContext("cuMemAlloc_v2", [&](const Gpu& gpu, const World&) -> int {
    *pointer = DeviceMemory::Instance().Allocate(current_gpu, gpu, bytes);
    return *pointer != 0 ? cuda::kSuccess : cuda::kOutOfMemory;
  });
}
EXPORT int cuMemFree_v2(cuda::DevicePointer pointer) {
  return DeviceMemory::Instance().Free(pointer) ? cuda::kSuccess : cuda::kInvalidValue;
}
EXPORT int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  *memory = std::malloc(bytes);
  return *memory != nullptr ? cuda::kSuccess : cuda::kOutOfMemory;
}
EXPORT int cuMemFreeHost(void* memory) {
  std::free(memory);
  return cuda::kSuccess;
}
EXPORT int cuMemcpyHtoDAsync_v2(cuda::DevicePointer to, const void* from, size_t bytes, void*) {
  return Copy("cuMemcpyHtoDAsync_v2", Host(to), from, bytes, true, IsDevice(to, bytes));
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, cuda::DevicePointer from, size_t bytes, void*) {
  return Copy("cuMemcpyDtoHAsync_v2", to, Host(from), bytes, true, IsDevice(from, bytes));
}
EXPORT int cuMemcpyDtoDAsync_v2(cuda::DevicePointer to, cuda::DevicePointer from, size_t bytes,
                                void*) {
  return Copy("cuMemcpyDtoDAsync_v2", Host(to), Host(from), bytes, false,
              IsDevice(to, bytes) && IsDevice(from, bytes));
}
EXPORT int cuMemcpyPeerAsync(cuda::DevicePointer to, void*, cuda::DevicePointer from, void*,
                             size_t bytes, void*) {
  return Copy("cuMemcpyPeerAsync", Host(to), Host(from), bytes, true,
              IsDevice(to, bytes) && IsDevice(from, bytes));
}
EXPORT int cuMemsetD8Async(cuda::DevicePointer to, unsigned char value, size_t bytes, void*) {
  return InContext("cuMemsetD8Async", [&](const Gpu&, const World&) -> int {
    if (!IsDevice(to, bytes)) return cuda::kIllegalAddress;
    const Working working(current_gpu);
    std::memset(Host(to), value, bytes);
    return cuda::kSuccess;
  });
}
EXPORT int cuMemsetD32Async(cuda::DevicePointer to, unsigned value, size_t count, void*) {
  return InContext("cuMemsetD32Async", [&](const Gpu&, const World&) -> int {
    if (!IsDevice(to, 4 * count)) return cuda::kIllegalAddress;
    const Working working(current_gpu);
    std::fill_n(static_cast<unsigned*>(Host(to)), count, value);
    return cuda::kSuccess;
  });
}

EXPORT int cuStreamCreate(void** stream, unsigned) {
  *stream = new char;
  return cuda::kSuccess;
}
EXPORT int cuStreamDestroy_v2(void* stream) {
  delete static_cast<char*>(stream);
  return cuda::kSuccess;
}
EXPORT int cuStreamSynchronize(void*) {
  return InContext("cuStreamSynchronize",
                   [](const Gpu&, const World&) { return static_cast<int>(cuda::kSuccess); });
}
EXPORT int cuStreamQuery(void*) {
  return InContext("cuStreamQuery",
                   [](const Gpu&, const World&) { return static_cast<int>(cuda::kSuccess); });
}
EXPORT int cuStreamWaitEvent(void*, void*, unsigned) { return cuda::kSuccess; }

EXPORT int cuEventCreate(void** event, unsigned) {
  *event = new FakeEvent;
  return cuda::kSuccess;
}
EXPORT int cuEventDestroy_v2(void* event) {
  delete static_cast<FakeEvent*>(event);
  return cuda::kSuccess;
}
EXPORT int cuEventRecord(void* event, void*) {
  return InContext("cuEventRecord", [&](const Gpu&, const World&) {
    *static_cast<FakeEvent*>(event) = {SteadyClock::now(), true};
    return static_cast<int>(cuda::kSuccess);
  });
}
EXPORT int cuEventSynchronize(void*) {
  return InContext("cuEventSynchronize",
                   [](const Gpu&, const World&) { return static_cast<int>(cuda::kSuccess); });
}
EXPORT int cuEventQuery(void*) {
  return InContext("cuEventQuery",
                   [](const Gpu&, const World&) { return static_cast<int>(cuda::kSuccess); });
}
EXPORT int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  const auto* begin = static_cast<FakeEvent*>(from);
  const auto* end = static_cast<FakeEvent*>(to);
  if (!begin->recorded || !end->recorded) return cuda::kInvalidValue;
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
  return cuda::kSuccess;
}

EXPORT int cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
  return InContext("cuModuleLoadDataEx", [&](const Gpu& gpu, const World& world) {
    const Ptx ptx = ReadPtx(static_cast<const char*>(image));
    const int code = CheckPtx(ptx, gpu, world);
    if (code == cuda::kSuccess) *module = new FakeModule{ptx.entries};
    return code;
  });
}
EXPORT int cuModuleLoadData(void** module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}
EXPORT int cuModuleUnload(void* module) {
  delete static_cast<FakeModule*>(module);
  return cuda::kSuccess;
}
EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  const std::vector<std::string>& entries = static_cast<FakeModule*>(module)->entries;
  if (std::find(entries.begin(), entries.end(), name) == entries.end()) return cuda::kNotFound;
  const HostKernel kernel = FindHostKernel(name);
  if (kernel == nullptr) return cuda::kNotFound;
  static std::mutex mutex;
  static auto* const functions = new std::map<HostKernel, std::unique_ptr<FakeFunction>>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<FakeFunction>& entry = (*functions)[kernel];
  if (entry == nullptr) entry = std::make_unique<FakeFunction>(FakeFunction{kernel});
  *function = entry.get();
  return cuda::kSuccess;
}
EXPORT int cuFuncSetAttribute(void*, int, int value) {
  return InContext("cuFuncSetAttribute", [&](const Gpu& gpu, const World&) -> int {
    return value <= AttributeOf(gpu, cuda::kMaxSharedMemoryPerBlockOptin) ? cuda::kSuccess
                                                                          : cuda::kInvalidValue;
  });
}
EXPORT int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, void*, void** arguments, void** extra) {
  return InContext("cuLaunchKernel", [&](const Gpu& gpu, const World&) -> int {
    if (extra != nullptr || block_x * block_y * block_z > 1024) return cuda::kInvalidValue;
    if (gpu.launch_error != 0) return gpu.launch_error;
    const Working working(current_gpu);
    const SteadyClock::time_point start = SteadyClock::now();
    // What has turned over while nobody worked is what the kernel finds.
    DeviceMemory::Instance().FlipWhatIsDue(current_gpu, gpu.flips, SinceFirstContext(), 0);
    const Launch launch = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
    static_cast<FakeFunction*>(function)->kernel(launch, arguments);
    SleepFor((gpu.slowdown - 1) * SecondsSince(start));
    uint64_t launches = 0;
    {
      Usage& usage = TheUsage();
      const std::lock_guard<std::mutex> lock(usage.mutex);
      launches = ++usage.launches[current_gpu];
    }
    DeviceMemory::Instance().FlipWhatIsDue(current_gpu, gpu.flips, SinceFirstContext(), launches);
    return cuda::kSuccess;
  });
}

}  // namespace muster::fake_nvidia
