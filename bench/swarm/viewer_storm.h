// Many people who make calls at once, and how long heartbeats wait meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/swarm/swarm_cluster.h"
#include "tests/fakes/agent_swarm.h"

namespace muster::bench {

struct StormFigures {
  // From an agent's passing a heartbeat to gRPC to the controller's noting it, sorted. A heartbeat
  // that was not seen to arrive before the next one counts as a whole interval.
  std::vector<absl::Duration> heartbeats;
  size_t unseen = 0;  // of them
  uint64_t answered = 0;
  uint64_t refused = 0;  // by a limit on concurrent calls
  uint64_t failed = 0;   // for other reasons; none should
};

// `viewers` people, each with a certificate and a connection of their own, make one call after the
// other without a pause for `duration`: they list nodes and runs, read facts and the status,
// explain a variable and watch a run that has ended. Agents must send nothing but heartbeats. The
// controller itself reports when it last heard from each of some 300 nodes; all clocks are this
// machine's.
absl::StatusOr<StormFigures> Storm(const SwarmCluster& cluster, const testing::AgentSwarm& swarm,
                                   size_t viewers, absl::Duration duration);

// The value that `share` (0.5, 0.99) of them do not exceed. REQUIRES: not empty, sorted.
double PercentileMs(const std::vector<absl::Duration>& sorted, double share);

}  // namespace muster::bench
