#include "controller/gate/slurm_jobs.h"

#include "absl/strings/str_cat.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/slurm_job.h"

namespace muster::controller::validation {

bool IsNoSlurmYet(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsFailedPrecondition(status);
}

absl::Status JobsAreUnknown(const std::vector<std::string>& nodes, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("whether Slurm jobs run on ", FoldHostlist(nodes), " is unknown: ", why,
                   "; try again when Slurm answers, or pass --force to test beside running jobs"));
}

absl::Status JobsAreThere(const SlurmJobsByNode& jobs) {
  return absl::FailedPreconditionError(
      absl::StrCat(DescribeWhere(jobs),
                   "; wait until they end, drain the nodes first (scontrol update NodeName=… "
                   "State=DRAIN Reason=…), or pass --force to test beside them"));
}

absl::Status CheckIdle(slurm::SlurmControl& slurm, const std::vector<std::string>& nodes) {
  const auto jobs = slurm.JobsOn(nodes);
  if (IsNoSlurmYet(jobs.status())) return absl::OkStatus();
  if (!jobs.ok()) return JobsAreUnknown(nodes, jobs.status().message());
  return jobs->empty() ? absl::OkStatus() : JobsAreThere(*jobs);
}

std::set<std::string> NodesWithJobs(slurm::SlurmControl& slurm,
                                    const std::vector<std::string>& nodes) {
  std::set<std::string> busy;
  const auto jobs = slurm.JobsOn(nodes);
  if (!jobs.ok()) return busy;
  for (const auto& [node, of_node] : *jobs) busy.insert(node);
  return busy;
}

std::vector<std::string> NodesWithoutJobs(slurm::SlurmControl& slurm,
                                          const std::vector<std::string>& nodes) {
  const auto jobs = slurm.JobsOn(nodes);
  std::vector<std::string> idle;
  if (!jobs.ok() && !IsNoSlurmYet(jobs.status())) return idle;
  for (const std::string& node : nodes) {
    if (!jobs.ok() || jobs->count(node) == 0) idle.push_back(node);
  }
  return idle;
}

}  // namespace muster::controller::validation
