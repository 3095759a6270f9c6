// Rollouts as Decide() sees them, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "controller/rollout/plan/rollout_plan.h"

namespace muster::controller::rollout {

// Monday 2024-01-01 12:00.
inline absl::Time Noon() {
  return absl::FromCivil(absl::CivilHour(2024, 1, 1, 12), absl::UTCTimeZone());
}

// In service, without jobs.
inline NodeView InService(std::string name) {
  NodeView node;
  node.name = std::move(name);
  node.since = Noon() - absl::Hours(1);
  node.was_available = true;
  node.is_connected = true;
  node.is_available = true;
  node.service = "in service";
  return node;
}

// As the rollout holds it in an active step.
inline NodeView Held(std::string name, v1::RolloutStep step) {
  NodeView node = InService(std::move(name));
  node.step = step;
  node.is_available = false;
  node.is_drained = true;
  node.service = "updated by u-1";
  return node;
}

inline NodeView Ended(std::string name, v1::RolloutStep step, absl::Duration ago) {
  NodeView node =
      step == v1::ROLLOUT_STEP_DONE ? InService(std::move(name)) : Held(std::move(name), step);
  node.step = step;
  node.since = Noon() - ago;
  return node;
}

// Out of service for another reason.
inline NodeView DrainedByRoot(std::string name) {
  NodeView node = InService(std::move(name));
  node.is_available = node.was_available = false;
  node.is_drained = true;
  node.service = "drained by root: bad disk";
  return node;
}

inline SlurmJob JobOf(absl::Duration left, std::string id = "4711") {
  return {std::move(id), "ann", "train", left};
}

// c001, c002, … in one wave.
inline RolloutView ViewOf(std::vector<NodeView> nodes, uint32_t max_unavailable = 1) {
  RolloutView view;
  view.limits.wave_sizes = {static_cast<uint32_t>(nodes.size())};
  view.limits.max_unavailable = max_unavailable;
  view.wave_since = Noon() - absl::Hours(2);
  view.now = Noon();
  view.zone = absl::UTCTimeZone();
  view.nodes = std::move(nodes);
  return view;
}

inline RolloutView ClusterOf(int nodes, uint32_t max_unavailable = 1) {
  std::vector<NodeView> all;
  for (int i = 1; i <= nodes; ++i) all.push_back(InService(absl::StrFormat("c%03d", i)));
  return ViewOf(std::move(all), max_unavailable);
}

// "take c001", "idle c002", "wave done", …
inline std::string Word(const Decision& decision) {
  static constexpr const char* kKinds[] = {"take",      "idle",      "pass over", "give back",
                                           "leave out", "requeue",   "wave done", "soaked",
                                           "pause",     "roll back", "complete",  "settle"};
  return absl::StrCat(kKinds[decision.kind], decision.node.empty() ? "" : " ", decision.node);
}

inline std::vector<std::string> Words(const RolloutView& view) {
  std::vector<std::string> words;
  for (const Decision& decision : Decide(view)) words.push_back(Word(decision));
  return words;
}

inline std::string FirstReason(const RolloutView& view) {
  const std::vector<Decision> decisions = Decide(view);
  return decisions.empty() ? "" : decisions[0].reason;
}

}  // namespace muster::controller::rollout
