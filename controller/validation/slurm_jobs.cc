#include "controller/validation/slurm_jobs.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/counted.h"
#include "common/base/hostlist.h"

namespace muster::controller::validation {
namespace {

// Nodes with jobs that a refusal names.
constexpr size_t kNamedNodes = 8;

std::string Describe(const std::map<std::string, std::vector<std::string>>& jobs) {
  std::vector<std::string> parts;
  for (const auto& [node, ids] : jobs) {
    if (parts.size() == kNamedNodes) {
      parts.push_back(Counted(jobs.size() - kNamedNodes, "more node"));
      break;
    }
    parts.push_back(absl::StrCat(node, " (job ", absl::StrJoin(ids, ", "), ")"));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

bool IsNoSlurmYet(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsFailedPrecondition(status);
}

absl::Status CheckIdle(slurm::SlurmControl& slurm, const std::vector<std::string>& nodes) {
  const auto jobs = slurm.JobsOn(nodes);
  if (IsNoSlurmYet(jobs.status())) return absl::OkStatus();
  if (!jobs.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("whether Slurm jobs run on ", FoldHostlist(nodes),
                     " cannot be told: ", jobs.status().message(),
                     "; try again when Slurm answers, or test beside whatever runs with --force"));
  }
  if (jobs->empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("Slurm jobs run on ", Describe(*jobs),
                   "; wait for them, drain the nodes first (scontrol update NodeName=… State=DRAIN "
                   "Reason=…), or "
                   "test beside them with --force"));
}

std::set<std::string> NodesWithJobs(slurm::SlurmControl& slurm,
                                    const std::vector<std::string>& nodes) {
  std::set<std::string> busy;
  const auto jobs = slurm.JobsOn(nodes);
  if (!jobs.ok()) return busy;
  for (const auto& [node, ids] : *jobs) busy.insert(node);
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
