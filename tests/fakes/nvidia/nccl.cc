// libnccl.so.2 of the fake: an all-reduce over memory of the host, done when the group ends.
#include <mutex>
#include <vector>

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 4, kFloat32 = 7, kSum = 0;

struct Communicator {
  int rank, ranks;
};

struct Call {
  const float* from;
  float* to;
  size_t count;
};

std::mutex mutex;
std::vector<Call> group;

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int ncclGetVersion(int* version) {
  *version = 21903;
  return kSuccess;
}
EXPORT const char* ncclGetErrorString(int code) {
  return code == kInvalidArgument ? "invalid argument" : "no error";
}
EXPORT int ncclCommInitAll(void** communicators, int count, const int*) {
  for (int i = 0; i < count; ++i) communicators[i] = new Communicator{i, count};
  return kSuccess;
}
EXPORT int ncclCommDestroy(void* communicator) {
  delete static_cast<Communicator*>(communicator);
  return kSuccess;
}
EXPORT int ncclGroupStart() { return kSuccess; }
EXPORT int ncclAllReduce(const void* from, void* to, size_t count, int type, int operation, void*,
                         void*) {
  if (type != kFloat32 || operation != kSum) return kInvalidArgument;
  const std::lock_guard<std::mutex> lock(mutex);
  group.push_back({static_cast<const float*>(from), static_cast<float*>(to), count});
  return kSuccess;
}
EXPORT int ncclGroupEnd() {
  const std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; !group.empty() && i < group[0].count; ++i) {
    float sum = 0;
    for (const Call& call : group) sum += call.from[i];
    for (const Call& call : group) call.to[i] = sum;
  }
  group.clear();
  return kSuccess;
}
