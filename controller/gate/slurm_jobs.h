// Whether Slurm's jobs run where somebody wants to test.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/slurm/slurm_control.h"

namespace muster::controller::validation {

// Of an error of SlurmControl: its commands are not installed, the inventory names no node for it,
// or that has not joined.
bool IsNoSlurmYet(const absl::Status& status);

// FailedPrecondition: some of the nodes have jobs, which the error names, or Slurm does not say.
// OK where there is no Slurm yet. Blocks for Slurm.
absl::Status CheckIdle(slurm::SlurmControl& slurm, const std::vector<std::string>& nodes);

// Those of `nodes` that have jobs; none where Slurm cannot be asked. Blocks for Slurm.
std::set<std::string> NodesWithJobs(slurm::SlurmControl& slurm,
                                    const std::vector<std::string>& nodes);

// Those that have none, as they come: all where there is no Slurm yet, nobody where it cannot be
// asked. Blocks for Slurm.
std::vector<std::string> NodesWithoutJobs(slurm::SlurmControl& slurm,
                                          const std::vector<std::string>& nodes);

}  // namespace muster::controller::validation
