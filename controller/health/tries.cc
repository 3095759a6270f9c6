#include "controller/health/tries.h"

#include <utility>

namespace muster::controller::health {

bool Tries::IsDue(const NodeCondition& key, absl::Time now) const {
  absl::MutexLock lock(&mutex_);
  const auto found = tries_.find(key);
  return found == tries_.end() || now >= found->second.next_at ||
         found->second.next_at - now > kInterval;
}

void Tries::Note(const NodeCondition& key, absl::Time now, std::string waits_for) {
  absl::MutexLock lock(&mutex_);
  if (tries_.size() >= kMost) tries_.clear();
  tries_[key] = {now + kInterval, std::move(waits_for)};
}

void Tries::Forget(const NodeCondition& key) {
  absl::MutexLock lock(&mutex_);
  tries_.erase(key);
}

std::string Tries::WaitsFor(const NodeCondition& key) const {
  absl::MutexLock lock(&mutex_);
  const auto found = tries_.find(key);
  return found == tries_.end() ? "" : found->second.waits_for;
}

}  // namespace muster::controller::health
