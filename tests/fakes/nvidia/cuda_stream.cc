// libcuda.so.1 of the fake: streams and events; enqueued work is done before the call returns.

#include "tests/fakes/nvidia/cuda_usage.h"

namespace muster::fake_nvidia {
namespace {

struct FakeEvent {
  SteadyClock::time_point at;
  bool recorded = false;
};

}  // namespace

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

}  // namespace muster::fake_nvidia
