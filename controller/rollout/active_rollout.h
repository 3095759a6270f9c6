// A rollout in progress, in memory, and the changes to it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "controller/rollout/plan/limits.h"
#include "controller/rollout/plan/node_step.h"
#include "controller/rollout/plan/rollout_plan.h"
#include "controller/rollout/plan/rollout_step.h"
#include "controller/rollout/rollout_feed.h"
#include "controller/store/tables.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller::rollout {

struct ActiveRollout {
  RolloutRecord record;
  v1::CreateRolloutRequest request;
  Limits limits;
  std::vector<RolloutNodeRecord> nodes;  // by position
  struct Place {
    std::string rack, switch_name;
  };
  std::vector<Place> places;  // of the nodes, in the same order
  uint64_t last_sequence = 0;
  std::shared_ptr<RolloutFeed> feed;
  // When to try again to begin a run or a validation that other work was in the way of, by node.
  std::map<size_t, absl::Time> retry_at;
  // The jobs that Slurm was asked to requeue, by node: each once in the life of this process.
  std::map<size_t, std::set<std::string>> requeued;

  // The first so many nodes are workers.
  uint32_t worker_count() const {
    return WorkerCount(request, static_cast<uint32_t>(nodes.size()));
  }
  // Of the nodes, by position.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const RolloutNodeRecord& node : nodes) names.push_back(node.node);
    return names;
  }
  // Whether the node is to be validated, and that has not begun.
  bool waits_for_suite(size_t node) const {
    return step(node) == v1::ROLLOUT_STEP_VALIDATING && nodes[node].validation_id.empty() &&
           !request.suite().empty() && node < worker_count();
  }
  v1::RolloutState state() const { return static_cast<v1::RolloutState>(record.state); }
  v1::RolloutStep step(size_t node) const { return static_cast<v1::RolloutStep>(nodes[node].step); }
};

// A change of one node: to its next step, or of what is known of its present one.
struct NodeMove {
  size_t node = 0;  // index in ActiveRollout::nodes
  std::optional<NodeEvent> event;
  std::string message;
  // Set: these become known. An empty one is forgotten.
  std::optional<std::string> run_id, validation_id;
  std::optional<bool> run_changed;
  // With kTaken: what the node was before.
  std::optional<std::string> service_before;
  bool was_available = false;
};

// A change of the whole.
struct RolloutMove {
  RolloutEvent event;
  std::string message;
  std::string rolled_back_by;  // with kSettled
  Forgiven forgiven = {};      // with kResumed: FailuresToForgive()
};

}  // namespace muster::controller::rollout
