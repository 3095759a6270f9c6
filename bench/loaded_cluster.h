// A Slurm cluster under load, in virtual time: what is lost while its nodes are updated.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "absl/time/time.h"

namespace muster::bench {

inline constexpr int kGpus = 8;  // of a node; a job has 1, 2, 4 or 8 of one node
// The time that the run and the validation of one node take.
inline constexpr absl::Duration kUpdateTime = absl::Minutes(25);
inline constexpr absl::Duration kTick = absl::Minutes(1);

struct LoadedJob {
  int64_t id = 0;
  int gpus = 0;
  absl::Time ends;
  absl::Time limit;
  absl::Duration runs;
  absl::Duration asked;
};

struct LoadedNode {
  bool is_held = false;  // no job starts on it
  bool is_updated = false;
  absl::Time update_ends = absl::InfiniteFuture();  // while it is being updated
  int free_gpus = kGpus;
  std::vector<LoadedJob> jobs;

  bool IsUpdating() const { return update_ends != absl::InfiniteFuture(); }
};

// Jobs arrive as a Poisson process for a given share of all GPUs, with log-normal run times from
// minutes to days; one that fits nowhere waits, and smaller ones pass it.
class LoadedCluster {
 public:
  LoadedCluster(int nodes, double load, uint64_t seed);

  // One kTick.
  void Advance();
  void StartUpdate(LoadedNode& node) { node.update_ends = now_ + kUpdateTime; }

  absl::Time now() const { return now_; }
  std::vector<LoadedNode>& nodes() { return nodes_; }
  bool AllUpdated() const;
  // Share of all GPUs that have jobs.
  double Load() const;
  // Hours of nodes that are held out, with their GPUs without a job counted as their share of a
  // node.
  double lost_node_hours() const { return lost_node_hours_; }
  int most_held() const { return most_held_; }
  int killed_jobs() const { return killed_jobs_; }

 private:
  LoadedJob NextJob();
  bool Place(LoadedJob job);

  std::mt19937_64 random_;
  double jobs_per_tick_;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  int64_t next_id_ = 1;
  double lost_node_hours_ = 0;
  int most_held_ = 0;
  int killed_jobs_ = 0;
  std::vector<LoadedNode> nodes_;
  std::deque<LoadedJob> queue_;
};

}  // namespace muster::bench
