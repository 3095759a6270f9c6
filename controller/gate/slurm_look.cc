#include "controller/gate/slurm_look.h"

#include <utility>

#include "common/base/clock.h"
#include "controller/gate/slurm_jobs.h"

namespace muster::controller::validation {

bool SlurmLook::IsOut(const std::string& node, absl::Time since) const {
  if (!has_slurm) return true;
  const auto in_slurm = nodes.find(node);
  const bool is_kept_out =
      in_slurm == nodes.end() || in_slurm->second.is_drained || in_slurm->second.is_held;
  return is_kept_out && at >= since && asked.count(node) > 0;
}

SlurmLook LookAtSlurm(slurm::SlurmControl& slurm, Clock& clock,
                      const std::vector<std::string>& jobs_of) {
  SlurmLook seen;
  seen.at = clock.Now();
  auto nodes = slurm.Nodes();
  if (IsNoSlurmYet(nodes.status())) return seen;
  seen.has_slurm = true;
  if (!nodes.ok()) {
    seen.trouble = std::string(nodes.status().message());
    return seen;
  }
  std::vector<std::string> known;
  for (slurm::SlurmNode& node : *nodes) {
    std::string name = node.name;
    seen.nodes.emplace(std::move(name), std::move(node));
  }
  for (const std::string& name : jobs_of) {
    if (seen.nodes.count(name) > 0) known.push_back(name);
  }
  seen.asked.insert(jobs_of.begin(), jobs_of.end());
  if (known.empty()) return seen;
  auto jobs = slurm.JobsOn(known);
  if (jobs.ok()) {
    seen.jobs = *std::move(jobs);
  } else {
    seen.trouble = std::string(jobs.status().message());
  }
  return seen;
}

}  // namespace muster::controller::validation
