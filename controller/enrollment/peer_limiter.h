// Limits how often a stranger may guess.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace muster::controller {

// One bucket of failures for each address: a few at once, then one every few seconds. IPv6 also has
// one for each /64: large enough for the machines of a cluster that boot at once, and small enough
// for a machine that takes one address of its network after the other. Peers without failures are
// not stored, and the table is bounded: when thousands fail at once, the bucket with the fewest
// failures is dropped first, so that a crowd cannot hide a persistent guesser. Thread-safe.
class PeerLimiter {
 public:
  static constexpr double kBurst = 10;
  static constexpr absl::Duration kRefill = absl::Seconds(6);
  static constexpr double kNetworkBurst = 1000;
  static constexpr absl::Duration kNetworkRefill = absl::Milliseconds(50);
  static constexpr size_t kMaxPeers = 10'000;

  // Whether the peer may try. `peer` is gRPC's "ipv4:10.0.0.1:3456"; ignores the port.
  bool MayTry(absl::string_view peer, absl::Time now);
  void Failed(absl::string_view peer, absl::Time now);

 private:
  struct Limit {
    double burst = kBurst;
    absl::Duration refill = kRefill;
  };
  struct Bucket {
    Limit limit;
    double failures = 0;
    absl::Time at;
  };
  // The buckets in which the peer counts, by their keys.
  static std::vector<std::pair<std::string, Limit>> LimitsOf(absl::string_view peer);
  static double Drained(const Bucket& bucket, absl::Time now);
  void MakeRoom(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Bucket> buckets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller
