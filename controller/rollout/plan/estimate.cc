#include "controller/rollout/plan/estimate.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/text/slurm_job.h"
#include "controller/rollout/plan/node_step.h"
#include "controller/rollout/plan/window.h"

namespace muster::controller::rollout {
namespace {

// Decide() waits until a time has passed, rather than come.
constexpr absl::Duration kPassed = absl::Seconds(1);
// After so many looks, what happens within another minute is looked at together: a rollout of many
// nodes and months is played through in seconds.
constexpr int kLooksPerMinute = 64;

class Play {
 public:
  Play(RolloutView view, absl::Duration node_update)
      : view_(std::move(view)), node_update_(node_update), begun_(view_.now) {
    for (size_t i = 0; i < view_.nodes.size(); ++i) {
      view_.nodes[i].busy.clear();
      index_[view_.nodes[i].name] = i;
      drains_.push_back(LongestDrain(view_.nodes[i].jobs));
    }
  }

  Estimate Run() {
    for (int looks = 0;; ++looks) {
      while (Advance()) {
      }
      if (view_.state == v1::ROLLOUT_STATE_COMPLETED) return Ended("");
      const absl::Time next = NextEvent();
      if (next == absl::InfiniteFuture()) return Ended(WhyEndless());
      view_.now = next + absl::Minutes(looks / kLooksPerMinute);
      if (view_.now - begun_ > kEstimateHorizon) return Ended("it would take more than a year");
    }
  }

 private:
  Estimate Ended(std::string endless) const {
    Estimate estimate;
    estimate.total = endless.empty() ? view_.now - begun_ : absl::InfiniteDuration();
    estimate.endless = std::move(endless);
    estimate.left_out = static_cast<uint32_t>(
        std::count_if(view_.nodes.begin(), view_.nodes.end(),
                      [](const NodeView& node) { return node.step == v1::ROLLOUT_STEP_SKIPPED; }));
    return estimate;
  }

  void GoTo(NodeView& node, v1::RolloutStep step) {
    node.step = step;
    node.since = view_.now;
  }

  // What has ended by now, and what is decided then. False: nothing happened.
  bool Advance() {
    for (NodeView& node : view_.nodes) {
      if (IsEmptying(node.step) && view_.now >= IdleAt(node)) node.jobs.clear();
      if (node.step == v1::ROLLOUT_STEP_APPLYING && view_.now >= node.since + node_update_)
        GoTo(node, v1::ROLLOUT_STEP_DONE);
    }
    const std::vector<Decision> decisions = Decide(view_);
    for (const Decision& decision : decisions) Follow(decision);
    return !decisions.empty();
  }

  void Follow(const Decision& decision) {
    switch (decision.kind) {
      case Decision::kTake:
        Of(decision).was_available = Of(decision).is_available;
        Of(decision).is_drained = true;
        return GoTo(Of(decision), v1::ROLLOUT_STEP_DRAINING);
      case Decision::kIdle:
        return GoTo(Of(decision), v1::ROLLOUT_STEP_APPLYING);
      case Decision::kGiveBack:
        return GoTo(Of(decision), v1::ROLLOUT_STEP_PENDING);
      case Decision::kPassOver:
        Of(decision).passed_over = true;
        return GoTo(Of(decision), v1::ROLLOUT_STEP_PENDING);
      case Decision::kLeaveOut:
        return GoTo(Of(decision), v1::ROLLOUT_STEP_SKIPPED);
      case Decision::kRequeue:
        Of(decision).jobs.clear();
        return GoTo(Of(decision), v1::ROLLOUT_STEP_REQUEUING);
      case Decision::kWaveDone:
        view_.state = v1::ROLLOUT_STATE_SOAKING;
        view_.wave_since = view_.now;
        return;
      case Decision::kSoaked:
        view_.state = v1::ROLLOUT_STATE_ROLLING;
        view_.wave_since = view_.now;
        ++view_.wave;
        return;
      default:  // nothing fails, so that it completes
        view_.state = v1::ROLLOUT_STATE_COMPLETED;
        return;
    }
  }

  NodeView& Of(const Decision& decision) { return view_.nodes[index_.at(decision.node)]; }

  absl::Time IdleAt(const NodeView& node) const {
    return node.since + drains_[static_cast<size_t>(&node - view_.nodes.data())];
  }

  // When something happens next; infinite: nothing ever does.
  absl::Time NextEvent() const {
    absl::Time next = absl::InfiniteFuture();
    const auto maybe = [&](absl::Time time) {
      if (time > view_.now) next = std::min(next, time);
    };
    for (const NodeView& node : view_.nodes) {
      if (IsEmptying(node.step)) {
        maybe(IdleAt(node));
        if (view_.limits.passes_over || view_.limits.requeues)
          maybe(node.since + view_.limits.drain_timeout + kPassed);
      } else if (node.step == v1::ROLLOUT_STEP_APPLYING) {
        maybe(node.since + node_update_);
      } else if (node.step == v1::ROLLOUT_STEP_PENDING && !node.is_connected) {
        maybe(node.away_since + kAwayGrace + kPassed);
      }
    }
    if (view_.state == v1::ROLLOUT_STATE_SOAKING) maybe(view_.wave_since + view_.limits.soak);
    if (!IsOpen(view_.limits.windows, view_.now, view_.zone))
      maybe(NextOpening(view_.limits.windows, view_.now, view_.zone));
    return next;
  }

  // Says why the first node that is never over is not.
  std::string WhyEndless() const {
    const auto is_open = [](const NodeView& node) { return !IsOver(node.step); };
    auto node = std::find_if(view_.nodes.begin(), view_.nodes.end(),
                             [](const NodeView& each) { return IsActive(each.step); });
    if (node == view_.nodes.end())
      node = std::find_if(view_.nodes.begin(), view_.nodes.end(), is_open);
    if (node == view_.nodes.end()) return "no node can be taken";
    return absl::StrCat(node->name, " ", ExplainNode(view_, node->name));
  }

  RolloutView view_;
  const absl::Duration node_update_;
  const absl::Time begun_;
  std::map<std::string, size_t> index_;
  std::vector<absl::Duration> drains_;  // of the nodes, in the same order
};

}  // namespace

Estimate EstimateRollout(RolloutView view, absl::Duration node_update) {
  return Play(std::move(view), node_update).Run();
}

}  // namespace muster::controller::rollout
