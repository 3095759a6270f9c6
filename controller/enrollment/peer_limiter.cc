#include "controller/enrollment/peer_limiter.h"

#include <algorithm>

#include "common/base/text/peer.h"

namespace muster::controller {
double PeerLimiter::Drained(const Bucket& bucket, absl::Time now) {
  const absl::Duration since = std::max(now - bucket.at, absl::ZeroDuration());
  return std::max(0.0, bucket.failures - absl::FDivDuration(since, kRefill));
}

bool PeerLimiter::MayTry(absl::string_view peer, absl::Time now) {
  const std::string network = PeerNetwork(peer);
  absl::MutexLock lock(&mutex_);
  const auto found = buckets_.find(network);
  if (found == buckets_.end()) return true;
  // A clock that was set back would keep it from draining until it is as late again.
  if (now < found->second.at) found->second.at = now;
  return Drained(found->second, now) + 1 <= kBurst;
}

void PeerLimiter::MakeRoom(absl::Time now) {
  if (buckets_.size() < kMaxPeers) return;
  absl::erase_if(buckets_, [&](const auto& entry) { return Drained(entry.second, now) == 0; });
  if (buckets_.size() < kMaxPeers) return;
  buckets_.erase(
      std::min_element(buckets_.begin(), buckets_.end(), [&](const auto& a, const auto& b) {
        return Drained(a.second, now) < Drained(b.second, now);
      }));
}

void PeerLimiter::Failed(absl::string_view peer, absl::Time now) {
  const std::string network = PeerNetwork(peer);
  absl::MutexLock lock(&mutex_);
  auto found = buckets_.find(network);
  if (found == buckets_.end()) {
    MakeRoom(now);
    found = buckets_.try_emplace(network).first;
  }
  Bucket& bucket = found->second;
  bucket.failures = Drained(bucket, now) + 1;
  bucket.at = now;
}

}  // namespace muster::controller
