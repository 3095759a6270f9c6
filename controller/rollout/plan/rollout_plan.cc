#include "controller/rollout/plan/rollout_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/human_duration.h"
#include "controller/rollout/plan/node_order.h"
#include "controller/rollout/plan/node_step.h"
#include "controller/rollout/plan/slots.h"
#include "controller/rollout/plan/window.h"

namespace muster::controller::rollout {
namespace {

// A host list in a reason; one that cannot be folded is as long as the cluster is large.
constexpr size_t kMaxListed = 20;

std::string Names(const std::vector<const NodeView*>& nodes) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(nodes.size(), kMaxListed); ++i) names.push_back(nodes[i]->name);
  return absl::StrCat(
      FoldHostlist(std::move(names)),
      nodes.size() > kMaxListed ? absl::StrCat(" and ", nodes.size() - kMaxListed, " more") : "");
}

size_t CountActive(const RolloutView& view) {
  return std::count_if(view.nodes.begin(), view.nodes.end(),
                       [](const NodeView& node) { return IsActive(node.step); });
}

size_t CountPending(const RolloutView& view) {
  return std::count_if(view.nodes.begin(), view.nodes.end(),
                       [](const NodeView& node) { return node.step == v1::ROLLOUT_STEP_PENDING; });
}

bool HasUpdated(const RolloutView& view) {
  return std::any_of(view.nodes.begin(), view.nodes.end(),
                     [](const NodeView& node) { return node.step == v1::ROLLOUT_STEP_DONE; });
}

// It was updated, and does not serve any more as it did before; what a person has drained since is
// that person's.
bool WentOut(const NodeView& node) {
  return node.step == v1::ROLLOUT_STEP_DONE && node.was_available && IsOut(node) &&
         !node.is_persons;
}

// Nothing but the update may be the reason.
bool IsUnhealthy(const NodeView& node) { return WentOut(node) && !node.is_worked_on; }

// The nodes with an outcome, by the time at which they ended.
std::vector<const NodeView*> Outcomes(const RolloutView& view) {
  std::vector<const NodeView*> outcomes;
  for (const NodeView& node : view.nodes) {
    if (node.step == v1::ROLLOUT_STEP_DONE || IsFailure(node.step)) outcomes.push_back(&node);
  }
  std::stable_sort(outcomes.begin(), outcomes.end(),
                   [](const NodeView* a, const NodeView* b) { return a->since < b->since; });
  return outcomes;
}

// Why no node may follow after these failures; empty: they are tolerated.
std::string TooManyFailures(const RolloutView& view) {
  std::vector<const NodeView*> counted;
  std::vector<const NodeView*> in_a_row;
  uint32_t failures = 0;
  for (const NodeView* node : Outcomes(view)) {
    if (!IsFailure(node->step)) {
      in_a_row.clear();
    } else if (++failures > view.forgiven.failed) {
      counted.push_back(node);
      in_a_row.push_back(node);
    }
  }
  if (counted.size() > view.limits.failure_budget) {
    return absl::StrCat(Counted(counted.size(), "node"), " failed (", Names(counted),
                        "), and the failure budget is ", view.limits.failure_budget);
  }
  if (in_a_row.size() >= kFailuresInARow) {
    return absl::StrCat(in_a_row.size(), " nodes in a row failed (", Names(in_a_row), ")");
  }
  return "";
}

// A node that was updated and went out of service since tells against the update.
std::string OutAfterUpdate(const RolloutView& view) {
  std::vector<const NodeView*> unhealthy;
  for (const NodeView& node : view.nodes) {
    if (IsUnhealthy(node)) unhealthy.push_back(&node);
  }
  if (unhealthy.size() <= view.forgiven.out) return "";
  const std::string& service = unhealthy.front()->service;
  return absl::StrCat(
      CountedAre(unhealthy.size(), "node"), " out of service since the update: ", Names(unhealthy),
      service.empty()
          ? ""
          : absl::StrCat(" (", unhealthy.size() > 1 ? "the first: " : "", service, ")"));
}

Decision Stop(const RolloutView& view, std::string why) {
  return {view.limits.rolls_back ? Decision::kRollBack : Decision::kPause, "", std::move(why)};
}

// Why the draining node gives up its slot; empty: it does not.
std::string DrainFailed(const RolloutView& view, const NodeView& node) {
  const absl::Duration waited = view.now - node.since;
  if (IsAway(view, node) && waited > kAwayGrace) return "its agent is not connected any more";
  if (!view.limits.passes_over || waited <= view.limits.drain_timeout) return "";
  return absl::StrCat("its jobs have not ended within ", HumanDuration(view.limits.drain_timeout));
}

// A job that Slurm starts on the node a moment later would be the next one to requeue: first no job
// may be able to start.
bool IsOverdue(const RolloutView& view, const NodeView& node) {
  return view.limits.requeues && node.step == v1::ROLLOUT_STEP_DRAINING && node.is_connected &&
         node.is_drained && !node.jobs.empty() && view.now - node.since > view.limits.drain_timeout;
}

bool MayBeLeftOut(const NodeView& node) {
  return node.step == v1::ROLLOUT_STEP_PENDING || IsEmptying(node.step);
}

void LeaveOutRemoved(const RolloutView& view, std::vector<Decision>& decisions) {
  for (const NodeView& node : view.nodes) {
    if (node.is_removed && MayBeLeftOut(node)) {
      decisions.push_back({Decision::kLeaveOut, node.name, "it was removed from the cluster"});
    }
  }
}

// The draining nodes serve while nobody may have them updated.
void GiveBack(const RolloutView& view, std::vector<Decision>& decisions) {
  for (const NodeView& node : view.nodes) {
    if (IsEmptying(node.step) && !node.is_removed)
      decisions.push_back({Decision::kGiveBack, node.name, view.no_mandate});
  }
}

void DecideDraining(const RolloutView& view, std::vector<Decision>& decisions) {
  if (!view.no_mandate.empty()) {
    GiveBack(view, decisions);
    return;
  }
  if (!view.slurm_trouble.empty()) return;
  for (const NodeView& node : view.nodes) {
    if (!IsEmptying(node.step) || node.is_removed) continue;
    if (node.is_connected && node.is_drained && node.jobs.empty()) {
      decisions.push_back({Decision::kIdle, node.name, ""});
      continue;
    }
    if (IsOverdue(view, node)) {
      decisions.push_back(
          {Decision::kRequeue, node.name,
           absl::StrCat(Describe(node.jobs), node.jobs.size() == 1 ? " has" : " have",
                        " not ended within ", HumanDuration(view.limits.drain_timeout))});
      continue;
    }
    std::string why = DrainFailed(view, node);
    if (why.empty()) continue;
    if (node.passed_over) absl::StrAppend(&why, ", for the second time");
    decisions.push_back(
        {node.passed_over ? Decision::kLeaveOut : Decision::kPassOver, node.name, std::move(why)});
  }
}

bool HasWorkersLeft(const RolloutView& view) {
  return std::any_of(view.nodes.begin(), view.nodes.end(), [](const NodeView& node) {
    return node.is_worker && !node.is_removed &&
           (node.step == v1::ROLLOUT_STEP_PENDING || IsActive(node.step));
  });
}

// The first of the nodes that follow the workers, if none of them is active.
void TakeOther(const RolloutView& view, std::vector<Decision>& decisions) {
  if (CountActive(view) > 0) return;
  for (const NodeView& node : view.nodes) {
    if (node.is_worker || !IsTakeable(node)) continue;
    decisions.push_back({Decision::kTake, node.name, ""});
    return;
  }
}

void TakeNodes(const RolloutView& view, uint32_t room, std::vector<Decision>& decisions) {
  if (!HasWorkersLeft(view)) {
    TakeOther(view, decisions);
    return;
  }
  Slots slots(view);
  if (slots.IsFull()) return;
  std::vector<const NodeView*> pending;
  for (const NodeView& node : view.nodes) {
    if (node.is_worker && node.step == v1::ROLLOUT_STEP_PENDING && !node.is_removed)
      pending.push_back(&node);
  }
  // Those that cannot be taken now, too: a canary waits for an available node rather than prove
  // nothing.
  const std::vector<const NodeView*> order =
      IsTrial(view, view.wave) ? TrialOrder(std::move(pending)) : UsualOrder(std::move(pending));
  for (const NodeView* node : order) {
    if (room == 0 || slots.IsFull()) return;
    if (!IsTakeable(*node) || slots.LimitOn(*node) != SlotLimit::kNone) continue;
    slots.Take(*node);
    --room;
    decisions.push_back({Decision::kTake, node->name,
                         node->jobs.empty()
                             ? ""
                             : absl::StrCat(Describe(node->jobs),
                                            node->jobs.size() == 1 ? " has" : " have", " to end")});
  }
}

void DecideRolling(const RolloutView& view, std::vector<Decision>& decisions) {
  const size_t active = CountActive(view);
  const size_t pending = CountPending(view);
  const bool is_over = active == 0 && pending == 0;
  if (std::string why = TooManyFailures(view); !why.empty()) {
    // There is nothing to pause when all are over.
    if (!is_over || view.limits.rolls_back) {
      decisions = {Stop(view, std::move(why))};
      return;
    }
    decisions.push_back({Decision::kComplete, "", std::move(why)});
    return;
  }
  if (is_over) {
    decisions.push_back({Decision::kComplete, "", HasUpdated(view) ? "" : "no node was updated"});
    return;
  }
  // Work that has begun continues, and the rollout completes when no other is left.
  const bool begins =
      pending > 0 || std::any_of(view.nodes.begin(), view.nodes.end(), [](const NodeView& node) {
        return node.waits_for_run || node.waits_for_suite;
      });
  if (!view.no_mandate.empty() && begins) {
    decisions.push_back({Decision::kPause, "", view.no_mandate});
    return;
  }
  const std::vector<uint32_t>& sizes = view.limits.wave_sizes;
  const bool is_last = view.wave + 1 >= sizes.size();
  const uint32_t taken = TakenCount(view);
  const auto room = is_last ? static_cast<uint32_t>(pending)
                            : sizes[view.wave] - std::min(sizes[view.wave], taken);
  if (active == 0 && room == 0) {
    decisions.push_back({Decision::kWaveDone, "", ""});
    return;
  }
  // A node that is away now may be back when nodes can be taken again.
  if (!view.slurm_trouble.empty() || !IsOpen(view.limits.windows, view.now, view.zone)) return;
  // Those that wait for workers keep none of them waiting.
  const bool of_workers = HasWorkersLeft(view);
  const auto is_next = [&](const NodeView& node) {
    return node.step == v1::ROLLOUT_STEP_PENDING && node.is_worker == of_workers;
  };
  const bool all_away =
      active == 0 && std::all_of(view.nodes.begin(), view.nodes.end(), [&](const NodeView& node) {
        return !is_next(node) || IsAway(view, node);
      });
  if (all_away) {
    for (const NodeView& node : view.nodes) {
      if (!is_next(node) || node.is_removed) continue;
      decisions.push_back({Decision::kLeaveOut, node.name,
                           "its agent was not connected when no other node was left to update"});
    }
    return;
  }
  TakeNodes(view, room, decisions);
}

void DecideSoaking(const RolloutView& view, std::vector<Decision>& decisions) {
  if (!view.slurm_trouble.empty() || view.now - view.wave_since < view.limits.soak) return;
  // A connection that broke a moment ago says nothing, and what other work has comes back from it.
  for (const NodeView& node : view.nodes) {
    const bool is_back_soon = node.is_worked_on || (!node.is_connected && !IsAway(view, node));
    if (WentOut(node) && is_back_soon) return;
  }
  if (std::string why = OutAfterUpdate(view); !why.empty()) {
    decisions.push_back(Stop(view, std::move(why)));
    return;
  }
  decisions.push_back({Decision::kSoaked, "", ""});
}

void DecideEnding(const RolloutView& view, std::vector<Decision>& decisions) {
  const absl::string_view why = view.state == v1::ROLLOUT_STATE_ABORTING
                                    ? "the rollout was aborted"
                                    : "the rollout is rolled back";
  bool is_settled = true;
  for (const NodeView& node : view.nodes) {
    if (MayBeLeftOut(node) || node.waits_for_run) {
      decisions.push_back({Decision::kLeaveOut, node.name, std::string(why)});
    } else if (IsActive(node.step)) {
      is_settled = false;
    }
  }
  if (is_settled) decisions.push_back({Decision::kSettle, "", ""});
}

}  // namespace

std::vector<Decision> Decide(const RolloutView& view) {
  std::vector<Decision> decisions;
  switch (view.state) {
    case v1::ROLLOUT_STATE_ROLLING:
      LeaveOutRemoved(view, decisions);
      DecideDraining(view, decisions);
      DecideRolling(view, decisions);
      break;
    case v1::ROLLOUT_STATE_SOAKING:
      DecideSoaking(view, decisions);
      break;
    case v1::ROLLOUT_STATE_PAUSED:
      LeaveOutRemoved(view, decisions);
      DecideDraining(view, decisions);
      break;
    case v1::ROLLOUT_STATE_ABORTING:
    case v1::ROLLOUT_STATE_ROLLING_BACK:
      DecideEnding(view, decisions);
      break;
    default:
      break;
  }
  return decisions;
}

Forgiven FailuresToForgive(const RolloutView& view) {
  Forgiven forgiven;
  for (const NodeView& node : view.nodes) {
    forgiven.failed += IsFailure(node.step);
    forgiven.out += IsUnhealthy(node);
  }
  return forgiven;
}

}  // namespace muster::controller::rollout
