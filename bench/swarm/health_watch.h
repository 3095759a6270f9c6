// What the health of many nodes costs the controller, and how soon people see a change.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/swarm/page_viewer.h"
#include "bench/swarm/swarm_cluster.h"
#include "tests/fakes/agent_swarm.h"

namespace muster::bench {

struct HealthFigures {
  double cpu_percent = 0;  // of a core, musterd's, with all below
  double changes_per_s = 0;
  // From an agent's passing a report to gRPC until the page that follows the cluster's events has
  // got the condition, sorted. One that it did not get within ten seconds counts as these.
  std::vector<absl::Duration> to_page;
  size_t unseen = 0;            // of them
  PageViewer::View first_view;  // the median of several, by time
};

// All agents report that they are well. Then one in a hundred turns bad or well each second, for
// `duration`, with heartbeats that say so, while one person looks at the page; every few seconds
// one node has a condition that no other has, which is looked for.
absl::StatusOr<HealthFigures> WatchHealth(SwarmCluster& cluster, testing::AgentSwarm& swarm,
                                          size_t nodes, absl::Duration duration);

}  // namespace muster::bench
