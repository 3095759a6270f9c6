#include "controller/metrics/call_durations.h"

#include <algorithm>

#include "absl/strings/strip.h"

namespace muster::controller {

void CallDurations::Add(absl::string_view rpc, absl::Duration duration, absl::string_view outcome) {
  absl::ConsumePrefix(&rpc, "/muster.v1.");
  const double seconds = std::max(absl::ToDoubleSeconds(duration), 0.0);
  const size_t bucket = static_cast<size_t>(
      std::lower_bound(kCallSeconds.begin(), kCallSeconds.end(), seconds) - kCallSeconds.begin());
  absl::MutexLock lock(&mutex_);
  auto found = calls_.find(rpc);
  if (found == calls_.end()) {
    if (calls_.size() >= kMaxMethods) return;
    found = calls_.emplace(std::string(rpc), CallReading{.method = std::string(rpc)}).first;
  }
  CallReading& call = found->second;
  ++call.durations[bucket];
  call.seconds += seconds;
  ++call.outcomes[std::string(outcome)];
}

std::vector<CallReading> CallDurations::Read() const {
  std::vector<CallReading> calls;
  absl::MutexLock lock(&mutex_);
  for (const auto& [method, call] : calls_) calls.push_back(call);
  return calls;
}

}  // namespace muster::controller
