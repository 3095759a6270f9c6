#include "tests/fakes/nvidia/cuda_usage.h"

#include <thread>

namespace muster::fake_nvidia {

thread_local int current_gpu = -1;

double SecondsSince(SteadyClock::time_point then) {
  return std::chrono::duration<double>(SteadyClock::now() - then).count();
}

void SleepFor(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

Usage& TheUsage() {
  static auto* const usage = new Usage;
  return *usage;
}

double SinceFirstContext() {
  Usage& usage = TheUsage();
  const std::lock_guard<std::mutex> lock(usage.mutex);
  return usage.started ? SecondsSince(usage.first_context) : -1;
}

void Working::Add(int count) {
  Usage& usage = TheUsage();
  const std::lock_guard<std::mutex> lock(usage.mutex);
  usage.working[gpu_] += count;
  usage.last_work[gpu_] = SteadyClock::now();
}

bool IsLost(const Gpu& gpu) {
  return gpu.lost_after_s == 0 || (gpu.lost_after_s > 0 && SinceFirstContext() >= gpu.lost_after_s);
}

}  // namespace muster::fake_nvidia
