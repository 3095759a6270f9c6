// A cluster with a Slurm, jobs that come and go, an administrator and seeded faults; virtual time.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::controller::rollout {

// The same numbers for a seed with every standard library.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // From 0 to `count` - 1.
  uint64_t Below(uint64_t count) { return engine_() % count; }
  bool OneIn(uint64_t count) { return Below(count) == 0; }
  absl::Duration Minutes(int64_t least, int64_t most) {
    return absl::Minutes(least + static_cast<int64_t>(Below(most - least + 1)));
  }

 private:
  std::mt19937_64 engine_;
};

struct SimulatedJob {
  std::string id;
  absl::Time ends;
  absl::Time limit;  // infinite future: none
  bool may_requeue = false;
};

struct SimulatedNode {
  std::string name;
  bool is_connected = true;
  absl::Time away_since = absl::InfinitePast();
  bool is_to_be_held = false;  // what the gate was told
  bool is_held = false;        // what it has told Slurm
  bool is_drained_by_admin = false;
  bool is_removed = false;
  absl::Time busy_until = absl::InfinitePast();  // by other work
  std::vector<SimulatedJob> jobs;

  bool IsDrained() const { return is_held || is_drained_by_admin; }
  bool IsAvailable() const { return is_connected && !is_removed && !IsDrained(); }
};

class SimulatedCluster {
 public:
  // `random` has to outlive it.
  SimulatedCluster(Random& random, int nodes);

  // Some minutes pass, and sometimes half a day at once.
  void Advance();
  // An update of the node: it ends whatever jobs are on it.
  void Update(SimulatedNode& node);
  // Slurm puts the node's jobs back into the queue where it may. It answers as always.
  void Requeue(SimulatedNode& node);
  // Nothing breaks any more, and what is broken is repaired bit by bit.
  void StopFaults() { has_faults_ = false; }

  bool has_faults() const { return has_faults_; }
  absl::Time now() const { return now_; }
  bool slurm_answers() const { return slurm_answers_; }
  int killed_jobs() const { return killed_jobs_; }
  int requeued_jobs() const { return requeued_jobs_; }
  std::vector<SimulatedNode>& nodes() { return nodes_; }

 private:
  void RestartController();
  void AdvanceNode(SimulatedNode& node);
  void Break(SimulatedNode& node);
  void Repair(SimulatedNode& node);

  Random& random_;
  const uint64_t jobs_one_in_;  // a node without a job gets one in a step
  absl::Time now_;
  absl::Time restarted_at_ = absl::InfiniteFuture();
  bool has_faults_ = true;
  bool slurm_answers_ = true;
  int killed_jobs_ = 0;
  int requeued_jobs_ = 0;
  int next_job_ = 1;
  std::vector<SimulatedNode> nodes_;
};

}  // namespace muster::controller::rollout
