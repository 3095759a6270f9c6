// libcuda.so.1 of the fake: modules and kernels; a launch returns when the kernel is done.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/fakes/nvidia/cuda_usage.h"
#include "tests/fakes/nvidia/device_memory.h"
#include "tests/fakes/nvidia/host/tensor_map.h"
#include "tests/fakes/nvidia/host_kernel.h"
#include "tests/fakes/nvidia/ptx.h"

namespace muster::fake_nvidia {
namespace {

struct FakeModule {
  std::vector<std::string> entries;
};
struct FakeFunction {
  HostKernel kernel;
  unsigned allowed_shared_bytes = 49152;
};

int CheckPtx(const Ptx& ptx, const Gpu& gpu, const World& world) {
  const int capability = 10 * gpu.preset->major + gpu.preset->minor;
  if (ptx.target == 0) return cuda::kInvalidPtx;
  if (CudaVersionForPtx(ptx.version) > world.cuda_version) return cuda::kUnsupportedPtxVersion;
  const bool fits = ptx.exact_target ? capability == ptx.target : capability >= ptx.target;
  return fits ? cuda::kSuccess : cuda::kNoBinaryForGpu;
}

}  // namespace

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
EXPORT int cuFuncSetAttribute(void* function, int attribute, int value) {
  return InContext("cuFuncSetAttribute", [&](const Gpu& gpu, const World&) -> int {
    if (attribute != cuda::kFunctionMaxDynamicSharedBytes || value < 0 ||
        value > AttributeOf(gpu, cuda::kMaxSharedMemoryPerBlockOptin))
      return cuda::kInvalidValue;
    static_cast<FakeFunction*>(function)->allowed_shared_bytes = static_cast<unsigned>(value);
    return cuda::kSuccess;
  });
}
// What the API reference demands of a matrix of bytes with the 128-byte swizzle; of the map,
// CUDA 13.
EXPORT int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address,
                                  const uint64_t* sizes, const uint64_t* strides,
                                  const unsigned* box, const unsigned* steps, int interleave,
                                  int swizzle, int, int fill) {
  const FakeTensorMap fake = {FakeTensorMap::kMark,
                              reinterpret_cast<uint64_t>(address),
                              sizes[0],
                              sizes[1],
                              strides[0],
                              box[0],
                              box[1]};
  const bool bytes = type == cuda::kTensorMapBytes && rank == 2 && steps[0] == 1 && steps[1] == 1 &&
                     interleave == cuda::kTensorMapNoInterleave &&
                     swizzle == cuda::kTensorMapSwizzle128 && fill == cuda::kTensorMapFillZeros;
  const bool aligned = reinterpret_cast<uintptr_t>(map) % 128 == 0 && fake.address % 16 == 0 &&
                       fake.stride % 16 == 0 && fake.stride >= fake.row_bytes;
  const bool fits = fake.box_bytes > 0 && fake.box_bytes <= 128 && fake.box_bytes % 16 == 0 &&
                    fake.box_rows > 0 && fake.box_rows <= 256;
  if (!bytes || !aligned || !fits) return cuda::kInvalidValue;
  std::memcpy(map, &fake, sizeof(fake));
  return cuda::kSuccess;
}
EXPORT int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, void*, void** arguments, void** extra) {
  return InContext("cuLaunchKernel", [&](const Gpu& gpu, const World&) -> int {
    if (extra != nullptr || block_x * block_y * block_z > 1024) return cuda::kInvalidValue;
    auto& launched = *static_cast<FakeFunction*>(function);
    if (shared_bytes > launched.allowed_shared_bytes) return cuda::kInvalidValue;
    if (gpu.launch_error != 0) return gpu.launch_error;
    const Working working(current_gpu);
    const SteadyClock::time_point start = SteadyClock::now();
    // The kernel finds the bits that have flipped while nobody worked.
    DeviceMemory::Instance().FlipWhatIsDue(current_gpu, gpu.flips, SinceFirstContext(), 0);
    const Launch launch = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
    launched.kernel(launch, arguments);
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
