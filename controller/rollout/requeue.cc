#include "controller/rollout/requeue.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/rollout/collaborators.h"
#include "controller/slurm/slurm_control.h"
#include "controller/store/store.h"

namespace muster::controller::rollout {
namespace {

std::string WhatBecame(absl::Span<const SlurmJob> jobs, const slurm::LeftAlone& left) {
  std::vector<SlurmJob> requeued;
  std::map<std::string, std::vector<SlurmJob>> waited_for;  // by the reason
  for (const SlurmJob& job : jobs) {
    const auto why = left.find(job.id);
    if (why == left.end()) {
      requeued.push_back(job);
    } else {
      waited_for[why->second].push_back(job);
    }
  }
  std::vector<std::string> parts;
  if (!requeued.empty()) parts.push_back(absl::StrCat("requeued ", Describe(requeued)));
  for (const auto& [why, of_reason] : waited_for)
    parts.push_back(absl::StrCat("cannot requeue ", Describe(of_reason), ": ", why));
  return absl::StrJoin(parts, "; ");
}

}  // namespace

std::vector<SlurmJob> JobsToRequeue(const ActiveRollout& rollout, size_t node,
                                    const Observation& seen) {
  const RolloutNodeRecord& row = rollout.nodes[node];
  if (rollout.step(node) != v1::ROLLOUT_STEP_REQUEUING || !seen.trouble.empty() ||
      seen.at < row.since || seen.asked.count(row.node) == 0) {
    return {};
  }
  const auto in_slurm = seen.nodes.find(row.node);
  const bool may_get_jobs =
      in_slurm == seen.nodes.end() || !(in_slurm->second.is_drained || in_slurm->second.is_held);
  const auto found = seen.jobs.find(row.node);
  if (may_get_jobs || found == seen.jobs.end()) return {};
  std::vector<SlurmJob> jobs;
  const auto tried = rollout.requeued.find(node);
  for (const SlurmJob& job : found->second) {
    if (tried == rollout.requeued.end() || tried->second.count(job.id) == 0) jobs.push_back(job);
  }
  return jobs;
}

absl::StatusOr<std::string> RequeueJobs(const RolloutCollaborators& with,
                                        const RolloutRecord& rollout, const std::string& node,
                                        absl::Span<const SlurmJob> jobs) {
  RETURN_IF_ERROR(with.store.Update([&](Transaction& txn) {
    return Audit(txn, with.clock.Now(), Actor{rollout.created_by, ""}, "rollout.requeue",
                 rollout.rollout_id, absl::StrCat(Describe(jobs), " on ", node));
  }));
  std::vector<slurm::JobOnNode> wanted;
  for (const SlurmJob& job : jobs) wanted.push_back({job.id, node});
  ASSIGN_OR_RETURN(const slurm::LeftAlone left, with.slurm.Requeue(wanted));
  return WhatBecame(jobs, left);
}

}  // namespace muster::controller::rollout
