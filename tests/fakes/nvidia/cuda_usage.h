// This process's use of the fake GPUs, and the common beginning of every call of the fake driver.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "agent/burnin/gpu/driver/cuda_abi.h"
#include "tests/fakes/nvidia/world.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace muster::fake_nvidia {

namespace cuda = burnin::cuda;
using SteadyClock = std::chrono::steady_clock;

inline constexpr size_t kMaxGpus = 64;

double SecondsSince(SteadyClock::time_point then);
void SleepFor(double seconds);

// This process's use of the GPUs.
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
Usage& TheUsage();

// GPU of the calling thread's current context; negative: none.
extern thread_local int current_gpu;

// Negative: there was none.
double SinceFirstContext();
bool IsLost(const Gpu& gpu);
// The answer of cuDeviceGetAttribute().
int AttributeOf(const Gpu& gpu, int attribute);

// Marks a GPU as busy while it lives.
class Working {
 public:
  explicit Working(int gpu) : gpu_(gpu) { Add(1); }
  ~Working() { Add(-1); }

 private:
  void Add(int count);
  const int gpu_;
};

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

}  // namespace muster::fake_nvidia
