// Slurm as it was at one moment: its nodes, and then the jobs on some of them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/text/slurm_job.h"
#include "controller/slurm/slurm_control.h"

namespace muster {
class Clock;
}

namespace muster::controller::validation {

struct SlurmLook {
  absl::Time at = absl::InfinitePast();  // before Slurm was asked
  std::string trouble;                   // why it is not known; "": it is known
  bool has_slurm = false;
  std::map<std::string, slurm::SlurmNode> nodes;
  std::set<std::string> asked;  // nodes whose jobs were asked for, after all of `nodes` were seen
  SlurmJobsByNode jobs;

  // Whether it is known what runs on the node.
  bool KnowsJobsOf(const std::string& node) const { return !has_slurm || asked.count(node) > 0; }
  // Whether no job could start on the node any more when its jobs were asked for: there is no
  // Slurm, or the node was seen drained, down by a person or unknown to Slurm, not before `since`.
  // Jobs that were on it are in `jobs`.
  bool IsOut(const std::string& node, absl::Time since) const;
};

// Asks for the state of all nodes, and then for the jobs of these. Blocks for Slurm.
SlurmLook LookAtSlurm(slurm::SlurmControl& slurm, Clock& clock,
                      const std::vector<std::string>& jobs_of);

}  // namespace muster::controller::validation
