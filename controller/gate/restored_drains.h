// Drains of Muster's that Slurm still has and that a restored store does not know.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "controller/slurm/slurm_control.h"

namespace muster::controller {
class Store;
}

namespace muster::controller::validation {

// Gives the members that were not seen in Slurm since the store was restored the holds that `nodes`
// show (HoldInSlurm()) and the store lacks. They end as any hold does. Each node is seen once. Also
// writes the audit log.
absl::Status KeepRestoredDrains(Store& store, const std::vector<slurm::SlurmNode>& nodes,
                                absl::Time now);

}  // namespace muster::controller::validation
