// Puts the jobs of nodes whose drain took too long back into Slurm's queue.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/text/slurm_job.h"
#include "controller/rollout/active_rollout.h"
#include "controller/rollout/observation.h"

namespace muster::controller::rollout {

struct RolloutCollaborators;

// The jobs that a node in the step REQUEUING has, as seen after it came to this step and while no
// job can start on it; without those that this process has tried to requeue before. Empty: there is
// nothing to do now.
std::vector<SlurmJob> JobsToRequeue(const ActiveRollout& rollout, size_t node,
                                    const Observation& seen);

// Enters the jobs into the audit log, in the name of the rollout's creator, and then has Slurm
// requeue them. Blocks for Slurm. Returns what became of them, for people: "requeued job 4711 (ann,
// train); cannot requeue job 4712 (bob, x): it is not a batch job". Errors: those of the store,
// with nothing done, and those of SlurmControl.
absl::StatusOr<std::string> RequeueJobs(const RolloutCollaborators& with,
                                        const RolloutRecord& rollout, const std::string& node,
                                        absl::Span<const SlurmJob> jobs);

}  // namespace muster::controller::rollout
