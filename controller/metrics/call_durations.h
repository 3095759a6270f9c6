// How long people's calls take, and how they end.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace muster::controller {

// The upper ends of the buckets, in seconds; the last bucket has none.
inline constexpr std::array<double, 8> kCallSeconds = {0.005, 0.02, 0.1, 0.5, 2, 10, 30, 120};

// The calls of one method so far.
struct CallReading {
  std::string method;                                            // "RunService/CreateRun"
  std::array<uint64_t, kCallSeconds.size() + 1> durations = {};  // how many ended in each bucket
  double seconds = 0;                                            // of all together
  std::map<std::string, uint64_t> outcomes;                      // by gRPC's code: "NOT_FOUND"
};

// Counts from the start of the process. Thread-safe.
class CallDurations {
 public:
  // `rpc`: as on the wire, "/muster.v1.RunService/CreateRun". Calls of further methods are not
  // counted when kMaxMethods are known.
  void Add(absl::string_view rpc, absl::Duration duration, absl::string_view outcome);
  // By method.
  std::vector<CallReading> Read() const;

 private:
  static constexpr size_t kMaxMethods = 200;

  mutable absl::Mutex mutex_;
  std::map<std::string, CallReading, std::less<>> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller
