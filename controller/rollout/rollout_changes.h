// Stores what changes in a rollout, before anything follows from it.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "controller/audit/audit.h"
#include "controller/rollout/active_rollout.h"

namespace muster::controller {
class Store;
}

namespace muster::controller::rollout {

// Makes the moves: rows, events, what holds the nodes out of Slurm, and the audit log, in one
// transaction, then `rollout` in memory, then the watchers. After an error nothing has changed.
// FailedPrecondition: one of the tables has no such row. `actor` moves the whole.
absl::Status Commit(Store& store, ActiveRollout& rollout, const std::vector<NodeMove>& nodes,
                    const std::optional<RolloutMove>& whole, const Actor& actor, absl::Time now);

}  // namespace muster::controller::rollout
