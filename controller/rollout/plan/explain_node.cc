#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/human_duration.h"
#include "controller/rollout/plan/node_order.h"
#include "controller/rollout/plan/node_step.h"
#include "controller/rollout/plan/rollout_plan.h"
#include "controller/rollout/plan/rollout_step.h"
#include "controller/rollout/plan/slots.h"
#include "controller/rollout/plan/window.h"

namespace muster::controller::rollout {
namespace {

constexpr size_t kMaxListBytes = 80;

std::string WithDetail(absl::string_view sentence, absl::string_view detail) {
  return absl::StrCat(sentence, detail.empty() ? "" : ": ", detail);
}

std::string ExplainDraining(const RolloutView& view, const NodeView& node) {
  if (!view.slurm_trouble.empty()) {
    return absl::StrCat("waits for Slurm to tell whether jobs are on it: ", view.slurm_trouble);
  }
  if (!node.is_connected) return "waits for its agent, which is not connected";
  std::string text;
  if (!node.jobs.empty()) {
    text = absl::StrCat("waits for ", Describe(node.jobs), DescribeEnd(node.jobs));
  } else if (!node.is_drained) {
    text = WithDetail("waits until no job can start on it", node.service);
  } else {
    return "has no jobs, and is updated next";
  }
  if (node.step == v1::ROLLOUT_STEP_REQUEUING) {
    // What became of the attempt is the message of the step.
    return node.message.empty() ? text : absl::StrCat(text, ": ", node.message);
  }
  const bool has_end = view.limits.passes_over || view.limits.requeues;
  if (!has_end || view.limits.drain_timeout == absl::InfiniteDuration()) return text;
  const absl::Duration left =
      std::max(node.since + view.limits.drain_timeout - view.now, absl::ZeroDuration());
  return absl::StrCat(text, ". After another ", HumanDuration(left),
                      view.limits.requeues ? " the jobs that can be requeued are"
                      : node.passed_over   ? " it is left out"
                                           : " it goes back into service and comes last");
}

// The nodes that are out of service, counted against one limit.
std::string OutOfService(const RolloutView& view, const NodeView& node, SlotLimit limit) {
  std::vector<std::string> names;
  const auto is_near = [&](const auto& other, bool of_cluster) {
    return limit == SlotLimit::kRack     ? other.rack == node.rack
           : limit == SlotLimit::kSwitch ? other.switch_name == node.switch_name
                                         : of_cluster;
  };
  for (const NodeView& other : view.nodes) {
    if (is_near(other, true) && IsOut(other)) names.push_back(other.name);
  }
  for (const OtherWorker& other : view.others_out) {
    if (is_near(other, false)) names.push_back(other.name);
  }
  const size_t count = names.size();
  std::string list = FoldHostlist(std::move(names));
  if (list.size() > kMaxListBytes) list.clear();
  const uint32_t most = limit == SlotLimit::kRack     ? view.limits.max_per_rack
                        : limit == SlotLimit::kSwitch ? view.limits.max_per_switch
                                                      : view.limits.max_unavailable;
  return absl::StrCat(CountedAre(count, "node"), " out of service",
                      list.empty() ? "" : absl::StrCat(" (", list, ")"), ", and at most ", most,
                      " may be");
}

std::string ExplainSlot(const RolloutView& view, const NodeView& node) {
  const SlotLimit limit = Slots(view).LimitOn(node);
  switch (limit) {
    case SlotLimit::kCluster:
      return absl::StrCat("waits for a slot: ", OutOfService(view, node, limit));
    case SlotLimit::kRack:
      return absl::StrCat("waits for a slot in rack ", node.rack, ": ",
                          OutOfService(view, node, limit));
    case SlotLimit::kSwitch:
      return absl::StrCat("waits for a slot behind switch ", node.switch_name, ": ",
                          OutOfService(view, node, limit));
    case SlotLimit::kNone:
      break;
  }
  return "waits for its turn: other nodes come before it";
}

std::string WaveName(const RolloutView& view, uint32_t wave) {
  return IsTrial(view, wave) ? "the first wave" : absl::StrCat("wave ", wave);
}

std::string ExplainRolling(const RolloutView& view, const NodeView& node) {
  for (const Decision& decision : Decide(view)) {
    if (decision.kind == Decision::kTake && decision.node == node.name) return "is taken next";
  }
  const std::vector<Place> places = ForecastOrder(view);
  const auto place = std::find_if(places.begin(), places.end(), [&](const Place& candidate) {
    return candidate.node == node.name;
  });
  if (place != places.end() && place->wave > view.wave) {
    const uint32_t size = view.limits.wave_sizes[view.wave];
    uint32_t over = 0;
    for (const NodeView& other : view.nodes) {
      if (IsOver(other.step) && other.step != v1::ROLLOUT_STEP_SKIPPED) ++over;
    }
    return absl::StrCat("waits for ", WaveName(view, place->wave), ": ", WaveName(view, view.wave),
                        " has ", Counted(size - std::min(size, over), "node"), " to go");
  }
  if (!view.slurm_trouble.empty()) {
    return absl::StrCat("waits for Slurm, which does not answer: ", view.slurm_trouble);
  }
  if (!IsOpen(view.limits.windows, view.now, view.zone)) {
    return absl::StrCat(
        "waits for the window, which opens on ",
        MomentText(NextOpening(view.limits.windows, view.now, view.zone), view.now, view.zone));
  }
  if (!node.is_worker) return "waits until all workers, and the nodes before it, have been updated";
  return ExplainSlot(view, node);
}

std::string ExplainPending(const RolloutView& view, const NodeView& node) {
  switch (view.state) {
    case v1::ROLLOUT_STATE_PAUSED:
      return WithDetail("waits: the rollout is paused", view.message);
    case v1::ROLLOUT_STATE_SOAKING:
      return absl::StrCat("waits for the next wave: ", WaveName(view, view.wave),
                          " is complete and is watched until ",
                          MomentText(view.wave_since + view.limits.soak, view.now, view.zone));
    case v1::ROLLOUT_STATE_ROLLING:
      break;
    default:
      return absl::StrCat("is not updated: the rollout is ", StateName(view.state));
  }
  if (!node.busy.empty()) return absl::StrCat("waits for ", node.busy, ", which holds it");
  if (!node.is_connected) {
    return "waits for its agent, which is not connected; it is left out if it is still away when "
           "no other node is left to update";
  }
  std::string text = ExplainRolling(view, node);
  if (node.passed_over) {
    absl::StrAppend(&text, WithDetail(". It was passed over once, and comes last", node.message));
  }
  return text;
}

std::string ExplainOver(const NodeView& node) {
  switch (node.step) {
    case v1::ROLLOUT_STEP_DONE:
      return WithDetail("is updated", node.service);
    case v1::ROLLOUT_STEP_FAILED:
      return absl::StrCat(WithDetail("could not be updated", node.message),
                          node.is_worker ? ". It is kept out of Slurm" : "");
    case v1::ROLLOUT_STEP_QUARANTINED:
      return absl::StrCat(WithDetail("is updated, but did not pass its validation", node.message),
                          ". It is kept out of Slurm until it passes one");
    default:
      return WithDetail("was left out", node.message);
  }
}

}  // namespace

std::string ExplainNode(const RolloutView& view, absl::string_view node) {
  const auto found =
      std::find_if(view.nodes.begin(), view.nodes.end(),
                   [&](const NodeView& candidate) { return candidate.name == node; });
  if (found == view.nodes.end()) return "is not a node of this rollout";
  if (found->is_removed && !IsOver(found->step)) return "was removed from the cluster";
  switch (found->step) {
    case v1::ROLLOUT_STEP_PENDING:
      return ExplainPending(view, *found);
    case v1::ROLLOUT_STEP_DRAINING:
    case v1::ROLLOUT_STEP_REQUEUING:
      return ExplainDraining(view, *found);
    case v1::ROLLOUT_STEP_APPLYING:
      return WithDetail("is being updated", found->message);
    case v1::ROLLOUT_STEP_VALIDATING:
      return WithDetail("is updated, and is being validated", found->message);
    case v1::ROLLOUT_STEP_RESUMING:
      return WithDetail("is updated, and waits to be back in service",
                        found->is_silent ? "slurmctld does not reach its slurmd yet"
                                         : absl::string_view(found->service));
    default:
      return ExplainOver(*found);
  }
}

}  // namespace muster::controller::rollout
