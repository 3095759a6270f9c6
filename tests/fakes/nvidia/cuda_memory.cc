// libcuda.so.1 of the fake: memory and copies; enqueued work is done before the call returns.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/fakes/nvidia/cuda_usage.h"
#include "tests/fakes/nvidia/device_memory.h"

namespace muster::fake_nvidia {
namespace {

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

}  // namespace

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

}  // namespace muster::fake_nvidia
