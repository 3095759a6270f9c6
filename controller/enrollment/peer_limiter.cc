#include "controller/enrollment/peer_limiter.h"

#include <algorithm>

#include "common/base/text/peer.h"

namespace muster::controller {

std::vector<std::pair<std::string, PeerLimiter::Limit>> PeerLimiter::LimitsOf(
    absl::string_view peer) {
  std::string host = PeerHost(peer);
  std::string network = PeerNetwork(peer);
  const bool is_of_network = network != host;
  std::vector<std::pair<std::string, Limit>> limits;
  limits.emplace_back(std::move(host), Limit{});
  if (is_of_network) limits.emplace_back(std::move(network), Limit{kNetworkBurst, kNetworkRefill});
  return limits;
}

double PeerLimiter::Drained(const Bucket& bucket, absl::Time now) {
  const absl::Duration since = std::max(now - bucket.at, absl::ZeroDuration());
  return std::max(0.0, bucket.failures - absl::FDivDuration(since, bucket.limit.refill));
}

bool PeerLimiter::MayTry(absl::string_view peer, absl::Time now) {
  const auto limits = LimitsOf(peer);
  absl::MutexLock lock(&mutex_);
  for (const auto& [key, limit] : limits) {
    const auto found = buckets_.find(key);
    if (found == buckets_.end()) continue;
    // A clock that was set back would keep it from draining until it is as late again.
    if (now < found->second.at) found->second.at = now;
    if (Drained(found->second, now) + 1 > limit.burst) return false;
  }
  return true;
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
  const auto limits = LimitsOf(peer);
  absl::MutexLock lock(&mutex_);
  for (const auto& [key, limit] : limits) {
    auto found = buckets_.find(key);
    if (found == buckets_.end()) {
      MakeRoom(now);
      found = buckets_.try_emplace(key, Bucket{.limit = limit}).first;
    }
    Bucket& bucket = found->second;
    bucket.failures = Drained(bucket, now) + 1;
    bucket.at = now;
  }
}

}  // namespace muster::controller
