// What a rollout has to keep to, resolved from the words of a request. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/rollout/plan/window.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller::rollout {

struct Limits {
  // The number of nodes taken by the end of each wave: rising, the last is that of all nodes. The
  // first is the canary's, where there is one.
  std::vector<uint32_t> wave_sizes;
  uint32_t max_unavailable = 1;
  uint32_t max_per_rack = 0;    // 0: no limit of its own
  uint32_t max_per_switch = 0;  // 0: no limit of its own
  uint32_t failure_budget = 0;
  bool rolls_back = false;  // when the failure budget is exceeded; otherwise it pauses
  absl::Duration soak = absl::ZeroDuration();
  std::vector<Window> windows;
  absl::Duration drain_timeout = absl::InfiniteDuration();
  bool passes_over = false;  // nodes whose drain took longer
  // The jobs on such nodes, where that is possible. Neither: they are waited for.
  bool requeues = false;
};

// The share of max_unavailable that a request without one gets, at least one node.
inline constexpr int kDefaultUnavailablePercent = 5;

// How many of the rollout's `nodes`, the first, are workers: waves and limits are of these.
uint32_t WorkerCount(const v1::CreateRolloutRequest& request, uint32_t nodes);

// InvalidArgument: login and storage nodes follow, and every node is to reboot.
absl::Status CheckReboots(const v1::CreateRolloutRequest& request);

// For a rollout over `nodes` nodes, at least one. InvalidArgument, also as of CheckReboots(), names
// the field and the remedy: a percentage above 100, a number that is none, waves that do not rise,
// a limit of 0 nodes, a negative time.
absl::StatusOr<Limits> ResolveLimits(const v1::CreateRolloutRequest& request, uint32_t nodes);

}  // namespace muster::controller::rollout
