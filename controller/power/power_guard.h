// Whether machines may lose their power, as far as their work is concerned.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace muster {
class Clock;
}
namespace muster::controller {
class Transaction;
}
namespace muster::controller::slurm {
class SlurmControl;
}

namespace muster::controller::power {

// FailedPrecondition, with the remedy: a rollout updates one of the nodes.
absl::Status CheckNoRollout(Transaction& txn, const std::vector<std::string>& nodes);

// FailedPrecondition, with the remedy: Slurm has jobs on some of the nodes, may start one at any
// moment, or does not answer. OK where there is no Slurm. Blocks for Slurm.
absl::Status CheckNoJobs(slurm::SlurmControl& slurm, Clock& clock,
                         const std::vector<std::string>& nodes);

}  // namespace muster::controller::power
