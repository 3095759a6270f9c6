// How long a rollout takes, before it begins. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "controller/rollout/plan/rollout_plan.h"

namespace muster::controller::rollout {

struct Estimate {
  // Until the last node is over. Infinite: `endless` says why, for people.
  absl::Duration total = absl::ZeroDuration();
  std::string endless;
  uint32_t left_out = 0;  // nodes that end without an update
};

// An estimate reaches no further.
inline constexpr absl::Duration kEstimateHorizon = absl::Hours(24 * 365);

// Plays the rollout through with Decide(). Each node has, when its turn comes, the jobs that it has
// in `view`, and they use their whole time limits; requeued ones end at once. The work on a node
// takes `node_update` once it is idle, never fails, and leaves the node as it was before; other
// work that holds a node now has ended by its turn. In large clusters what happens within some
// minutes counts as happening together, which makes the result slightly longer.
Estimate EstimateRollout(RolloutView view, absl::Duration node_update);

}  // namespace muster::controller::rollout
