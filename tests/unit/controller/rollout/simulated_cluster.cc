#include "tests/unit/controller/rollout/simulated_cluster.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster::controller::rollout {

SimulatedCluster::SimulatedCluster(Random& random, int nodes)
    : random_(random),
      jobs_one_in_(1 + random.Below(6)),
      now_(absl::FromCivil(absl::CivilDay(2024, 1, 1), absl::UTCTimeZone()) +
           random.Minutes(0, 7 * 24 * 60)) {
  nodes_.resize(nodes);
  for (int i = 0; i < nodes; ++i) {
    nodes_[i].name = absl::StrFormat("c%05d", i + 1);
    nodes_[i].is_drained_by_admin = random_.OneIn(12);
    nodes_[i].is_connected = !random_.OneIn(15);
  }
  // Jobs that are there already.
  for (SimulatedNode& node : nodes_) AdvanceNode(node);
}

void SimulatedCluster::Advance() {
  now_ += has_faults_ && random_.OneIn(100) ? absl::Hours(12) : random_.Minutes(1, 60);
  slurm_answers_ = slurm_answers_ ? !has_faults_ || !random_.OneIn(60) : random_.OneIn(3);
  for (SimulatedNode& node : nodes_) {
    if (node.away_since == restarted_at_) node.is_connected = true;
    AdvanceNode(node);
  }
  if (has_faults_ && random_.OneIn(80)) RestartController();
}

// All agents have to connect again.
void SimulatedCluster::RestartController() {
  restarted_at_ = now_;
  for (SimulatedNode& node : nodes_) {
    if (node.is_connected) node.away_since = now_;
    node.is_connected = false;
  }
}

void SimulatedCluster::AdvanceNode(SimulatedNode& node) {
  if (node.is_removed) {
    node.jobs.clear();
    return;
  }
  const absl::Time now = now_;
  node.jobs.erase(std::remove_if(node.jobs.begin(), node.jobs.end(),
                                 [now](const SimulatedJob& job) { return job.ends <= now; }),
                  node.jobs.end());
  if (has_faults_) Break(node);
  Repair(node);
  if (slurm_answers_ && node.is_held != node.is_to_be_held && !random_.OneIn(4)) {
    node.is_held = node.is_to_be_held;
  }
  if (node.IsDrained() || node.jobs.size() > 1 || !random_.OneIn(jobs_one_in_)) return;
  const absl::Duration runs = random_.OneIn(5) ? random_.Minutes(1, 720) : random_.Minutes(1, 60);
  node.jobs.push_back({absl::StrCat(next_job_++), now + runs,
                       random_.OneIn(4) ? absl::InfiniteFuture() : now + runs * 1.5,
                       !random_.OneIn(3)});
}

void SimulatedCluster::Break(SimulatedNode& node) {
  switch (random_.Below(1500)) {
    case 0:
    case 1:
    case 2:
    case 3:
      if (node.is_connected) node.away_since = now_;
      node.is_connected = false;
      break;
    case 4:
    case 5:
    case 6:
      node.is_drained_by_admin = true;
      break;
    case 7:
    case 8:
      node.is_held = false;  // the administrator resumes it by hand
      break;
    case 9:
    case 10:
    case 11:
      node.busy_until = now_ + random_.Minutes(10, 600);
      break;
    default:
      break;
  }
}

void SimulatedCluster::Repair(SimulatedNode& node) {
  if (!node.is_connected && random_.OneIn(12)) node.is_connected = true;
  if (node.is_drained_by_admin && random_.OneIn(24)) node.is_drained_by_admin = false;
}

void SimulatedCluster::Requeue(SimulatedNode& node) {
  if (!slurm_answers_) return;
  const auto kept = std::remove_if(node.jobs.begin(), node.jobs.end(),
                                   [](const SimulatedJob& job) { return job.may_requeue; });
  requeued_jobs_ += static_cast<int>(node.jobs.end() - kept);
  node.jobs.erase(kept, node.jobs.end());
}

void SimulatedCluster::Update(SimulatedNode& node) {
  killed_jobs_ += static_cast<int>(node.jobs.size());
  node.jobs.clear();
}

}  // namespace muster::controller::rollout
