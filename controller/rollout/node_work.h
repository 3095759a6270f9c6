// What the runs and validations of a rollout's nodes have come to.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "controller/rollout/active_rollout.h"
#include "controller/rollout/observation.h"

namespace muster::controller {
class Transaction;
}

namespace muster::controller::rollout {

// The moves of active nodes that follow from what is stored of their runs and validations, and of
// resuming ones from what was seen of Slurm after their hold ended: they are back when slurmctld
// reaches them, too. Reads only.
absl::StatusOr<std::vector<NodeMove>> ReadProgress(Transaction& txn, const ActiveRollout& rollout,
                                                   const Observation& seen);

// After a restart: the runs and validations that an earlier process began without storing that it
// had.
absl::StatusOr<std::vector<NodeMove>> FindLostWork(Transaction& txn, const ActiveRollout& rollout);

}  // namespace muster::controller::rollout
