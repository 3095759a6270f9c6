#include "bench/loaded_cluster.h"

#include <algorithm>
#include <cmath>

namespace muster::bench {
namespace {

constexpr absl::Duration kMedian = absl::Hours(2);
constexpr double kSigma = 1.5;
constexpr absl::Duration kShortest = absl::Minutes(2);
constexpr absl::Duration kLongest = absl::Hours(5 * 24);
// Single GPUs are most common, then whole nodes.
constexpr int kSizes[] = {1, 2, 4, 8};
constexpr double kShares[] = {0.5, 0.15, 0.15, 0.2};
// How far down the queue a job is looked for that fits.
constexpr size_t kBackfill = 200;
constexpr int kSamples = 200'000;

}  // namespace

LoadedCluster::LoadedCluster(int nodes, double load, uint64_t seed) : random_(seed), nodes_(nodes) {
  double gpu_hours = 0;
  for (int i = 0; i < kSamples; ++i) {
    const LoadedJob job = NextJob();
    gpu_hours += job.gpus * absl::ToDoubleHours(job.runs) / kSamples;
  }
  jobs_per_tick_ = load * nodes * kGpus / gpu_hours * absl::ToDoubleHours(kTick);
}

LoadedJob LoadedCluster::NextJob() {
  std::lognormal_distribution<double> length(0, kSigma);
  std::discrete_distribution<int> size(std::begin(kShares), std::end(kShares));
  std::uniform_real_distribution<double> margin(1.1, 4);
  LoadedJob job;
  job.id = next_id_++;
  job.gpus = kSizes[size(random_)];
  job.runs = std::clamp(kMedian * length(random_), kShortest, kLongest);
  job.asked = job.runs * margin(random_);
  return job;
}

bool LoadedCluster::Place(LoadedJob job) {
  LoadedNode* best = nullptr;
  for (LoadedNode& node : nodes_) {
    if (node.is_held || node.free_gpus < job.gpus) continue;
    if (best == nullptr || node.free_gpus < best->free_gpus) best = &node;
  }
  if (best == nullptr) return false;
  job.ends = now_ + job.runs;
  job.limit = now_ + job.asked;
  best->free_gpus -= job.gpus;
  best->jobs.push_back(job);
  return true;
}

void LoadedCluster::Advance() {
  int held = 0;
  for (LoadedNode& node : nodes_) {
    if (!node.is_held) continue;
    ++held;
    lost_node_hours_ += absl::ToDoubleHours(kTick) * node.free_gpus / kGpus;
  }
  most_held_ = std::max(most_held_, held);
  now_ += kTick;
  for (LoadedNode& node : nodes_) {
    if (node.IsUpdating()) killed_jobs_ += static_cast<int>(node.jobs.size());
    if (node.update_ends <= now_) {
      node.update_ends = absl::InfiniteFuture();
      node.is_updated = true;
    }
    node.jobs.erase(std::remove_if(node.jobs.begin(), node.jobs.end(),
                                   [&](const LoadedJob& job) {
                                     if (job.ends > now_) return false;
                                     node.free_gpus += job.gpus;
                                     return true;
                                   }),
                    node.jobs.end());
  }
  const int arrived = std::poisson_distribution<int>(jobs_per_tick_)(random_);
  for (int i = 0; i < arrived; ++i) queue_.push_back(NextJob());
  bool fits[kGpus + 1];
  std::fill(std::begin(fits), std::end(fits), true);
  size_t i = 0;
  while (i < std::min(queue_.size(), kBackfill)) {
    bool& may_fit = fits[queue_[i].gpus];
    if (may_fit) may_fit = Place(queue_[i]);
    if (may_fit) {
      queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

bool LoadedCluster::AllUpdated() const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [](const LoadedNode& node) { return node.is_updated; });
}

double LoadedCluster::Load() const {
  double used = 0;
  for (const LoadedNode& node : nodes_) used += kGpus - node.free_gpus;
  return used / (static_cast<double>(nodes_.size()) * kGpus);
}

}  // namespace muster::bench
