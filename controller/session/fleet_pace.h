// What the number of nodes makes of the times between their messages. Pure.
#pragma once

#include <algorithm>

#include "absl/time/time.h"

namespace muster::controller {

// The number of agents that two cores can admit per second when all come at once: a handshake, a
// greeting and what the agent then reports take 5 to 7 ms of one core (docs/benchmarks.md). An
// agent that waits longer than a handshake may take has to come again, which only adds work.
inline constexpr int kReconnectsPerSecond = 200;
// The number of heartbeats that the controller hears per second, at 0.15 ms of one core each
// (docs/benchmarks.md): 15 % of it. More nodes send theirs less often.
inline constexpr int kHeartbeatsPerSecond = 1000;
inline constexpr absl::Duration kMinHeartbeatInterval = absl::Seconds(5);
inline constexpr int kMissedHeartbeats = 2;
// How late the second heartbeat may be. Together with the sweep's second, a dead node is noticed
// within 15 seconds of its last message in a cluster of up to 5,000 nodes, of 10,000 within 25.
inline constexpr absl::Duration kHeartbeatGrace = absl::Seconds(3);

// The time over which all nodes should spread their reconnections.
inline absl::Duration ReconnectSpread(size_t nodes) {
  return absl::Seconds(nodes) / kReconnectsPerSecond;
}

// How often each node should send a heartbeat.
inline absl::Duration HeartbeatInterval(size_t nodes) {
  return std::max(kMinHeartbeatInterval, absl::Seconds(nodes) / kHeartbeatsPerSecond);
}

// A node that has sent nothing for longer than this is gone.
inline absl::Duration MaxSilence(size_t nodes) {
  return HeartbeatInterval(nodes) * kMissedHeartbeats + kHeartbeatGrace;
}

}  // namespace muster::controller
