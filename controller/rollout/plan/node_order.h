// The order in which the pending nodes of a rollout are taken. Pure.
#pragma once

#include <vector>

#include "controller/rollout/plan/rollout_plan.h"

namespace muster::controller::rollout {

// It may be taken: pending, connected, and no other work holds it.
bool IsTakeable(const NodeView& node);
// Not connected for so long that nobody waits for it; what other work holds may be rebooting.
bool IsAway(const RolloutView& view, const NodeView& node);

// The number of nodes that count for the waves: active ones, and those that are over but not
// skipped.
uint32_t TakenCount(const RolloutView& view);

// Whether wave `wave` tries the update before others follow, as the canary does.
bool IsTrial(const RolloutView& view, uint32_t wave);
// The pending nodes among which a trial chooses, best first; a subset of `nodes`.
std::vector<const NodeView*> TrialOrder(std::vector<const NodeView*> nodes);
// All of them, best first.
std::vector<const NodeView*> UsualOrder(std::vector<const NodeView*> nodes);

}  // namespace muster::controller::rollout
