#include "controller/power/power_guard.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/slurm_job.h"
#include "controller/gate/slurm_look.h"
#include "controller/rollout/plan/node_step.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::power {

absl::Status CheckNoRollout(Transaction& txn, const std::vector<std::string>& nodes) {
  ASSIGN_OR_RETURN(const std::vector<RolloutRecord> rollouts, txn.rollouts().ListOpen());
  const std::set<std::string> wanted(nodes.begin(), nodes.end());
  for (const RolloutRecord& rollout : rollouts) {
    ASSIGN_OR_RETURN(const std::vector<RolloutNodeRecord> rows,
                     txn.rollouts().ListNodes(rollout.rollout_id));
    std::vector<std::string> active;
    for (const RolloutNodeRecord& row : rows) {
      if (rollout::IsActive(static_cast<v1::RolloutStep>(row.step)) && wanted.count(row.node) > 0)
        active.push_back(row.node);
    }
    if (!active.empty())
      return absl::FailedPreconditionError(absl::StrCat(
          "rollout ", rollout.rollout_id, " of ", rollout.created_by, " is at work on ",
          FoldHostlist(active), "; wait for it (muster rollout watch ", rollout.rollout_id,
          "), abort it (muster rollout abort ", rollout.rollout_id, "), or leave these nodes out"));
  }
  return absl::OkStatus();
}

absl::Status CheckNoJobs(slurm::SlurmControl& slurm, Clock& clock,
                         const std::vector<std::string>& nodes) {
  const validation::SlurmLook seen = validation::LookAtSlurm(slurm, clock, nodes);
  if (!seen.has_slurm) return absl::OkStatus();
  if (!seen.trouble.empty())
    return absl::FailedPreconditionError(absl::StrCat(
        "which jobs run on ", FoldHostlist(nodes), " is not known: ", seen.trouble,
        "; try again when Slurm answers, or pass --force if nothing of value runs there"));
  if (const std::string jobs = DescribeWhere(seen.jobs); !jobs.empty())
    return absl::FailedPreconditionError(
        absl::StrCat(jobs,
                     "; drain the nodes (muster node drain) and wait until the jobs have "
                     "ended, or pass --force to end them like this"));
  std::vector<std::string> open;
  for (const std::string& node : nodes) {
    const auto found = seen.nodes.find(node);
    if (found != seen.nodes.end() && found->second.takes_jobs && !found->second.is_silent)
      open.push_back(node);
  }
  if (open.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("Slurm may start jobs on ", FoldHostlist(open),
                   " at any moment; drain first (muster node drain), or pass --force"));
}

}  // namespace muster::controller::power
