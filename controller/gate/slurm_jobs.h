// Checks whether Slurm has jobs on nodes that are to be tested.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/text/slurm_job.h"
#include "controller/slurm/slurm_control.h"

namespace muster::controller::validation {

// Whether an error of SlurmControl means that there is no Slurm yet: its commands are not
// installed, the inventory names no node for it, or that node has not joined.
bool IsNoSlurmYet(const absl::Status& status);

// Why nodes cannot be tested: what runs on them is not known, or these jobs do. With the remedy.
absl::Status JobsAreUnknown(const std::vector<std::string>& nodes, absl::string_view why);
absl::Status JobsAreThere(const SlurmJobsByNode& jobs);

// FailedPrecondition: some of the nodes have jobs, which the error names, or Slurm does not answer.
// OK where there is no Slurm yet. Blocks for Slurm.
absl::Status CheckIdle(slurm::SlurmControl& slurm, const std::vector<std::string>& nodes);

// Those of `nodes` that have jobs; none where Slurm cannot be asked. Blocks for Slurm.
std::set<std::string> NodesWithJobs(slurm::SlurmControl& slurm,
                                    const std::vector<std::string>& nodes);

// Those of `nodes` without jobs, in the given order: all where there is no Slurm yet, none where it
// cannot be asked. Blocks for Slurm.
std::vector<std::string> NodesWithoutJobs(slurm::SlurmControl& slurm,
                                          const std::vector<std::string>& nodes);

}  // namespace muster::controller::validation
