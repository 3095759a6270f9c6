// What is seen of nodes outside of the store: their connections, Slurm, other work.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "controller/gate/slurm_look.h"
#include "controller/rollout/plan/rollout_plan.h"

namespace muster::controller::rollout {

struct ActiveRollout;
struct RolloutCollaborators;

// Slurm and the cluster as they were at one moment.
struct Observation : validation::SlurmLook {
  // uuids of the nodes that are not removed, and that the inventory in force has.
  std::set<std::string> members;
  std::map<std::string, std::string> joined;  // uuids, by name, of those that have joined
  // Since when Slurm answers, each time it was looked at; InfiniteFuture(): it does not.
  absl::Time answers_since = absl::InfiniteFuture();
};

// Asks for the state of all nodes, and then for the jobs of these. Blocks for Slurm.
Observation Observe(const RolloutCollaborators& with, const std::vector<std::string>& jobs_of);

// Since when nodes have been away, by uuid; those that are connected have no entry.
using Absences = std::map<std::string, absl::Time>;

// The rollout as Decide() takes it. A draining node counts as drained only where it was seen after
// it had been taken, together with its jobs. A node that is away for the first time is entered into
// `absences`.
RolloutView ViewOf(const ActiveRollout& rollout, const Observation& seen, Absences& absences,
                   const RolloutCollaborators& with);

}  // namespace muster::controller::rollout
