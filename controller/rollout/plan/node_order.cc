#include "controller/rollout/plan/node_order.h"

#include <algorithm>
#include <tuple>

#include "absl/container/flat_hash_set.h"
#include "controller/rollout/plan/node_step.h"

namespace muster::controller::rollout {
namespace {

// What the order is by; computed once per node. Nodes that are alike keep the inventory's order.
struct Rank {
  const NodeView* node;
  absl::Duration drain;
};

std::vector<const NodeView*> Ordered(const std::vector<const NodeView*>& nodes, bool out_first) {
  std::vector<Rank> ranks;
  ranks.reserve(nodes.size());
  for (const NodeView* node : nodes) ranks.push_back({node, LongestDrain(node->jobs)});
  const auto key = [out_first](const Rank& rank) {
    const NodeView& node = *rank.node;
    return std::make_tuple(node.passed_over, node.is_available == out_first, !node.jobs.empty(),
                           rank.drain);
  };
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](const Rank& a, const Rank& b) { return key(a) < key(b); });
  std::vector<const NodeView*> ordered;
  ordered.reserve(ranks.size());
  for (const Rank& rank : ranks) ordered.push_back(rank.node);
  return ordered;
}

}  // namespace

bool IsTakeable(const NodeView& node) {
  return node.step == v1::ROLLOUT_STEP_PENDING && !node.is_removed && node.is_connected &&
         node.busy.empty();
}

bool IsAway(const RolloutView& view, const NodeView& node) {
  return !node.is_connected && node.busy.empty() && view.now - node.away_since > kAwayGrace;
}

uint32_t TakenCount(const RolloutView& view) {
  return static_cast<uint32_t>(
      std::count_if(view.nodes.begin(), view.nodes.end(), [](const NodeView& node) {
        return node.is_worker && (IsActive(node.step) ||
                                  (IsOver(node.step) && node.step != v1::ROLLOUT_STEP_SKIPPED));
      }));
}

bool IsTrial(const RolloutView& view, uint32_t wave) {
  return wave == 0 && view.limits.wave_sizes.size() > 1;
}

std::vector<const NodeView*> TrialOrder(std::vector<const NodeView*> nodes) {
  const bool has_available = std::any_of(nodes.begin(), nodes.end(),
                                         [](const NodeView* node) { return node->is_available; });
  if (has_available) {
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                               [](const NodeView* node) { return !node->is_available; }),
                nodes.end());
  }
  return Ordered(nodes, false);
}

std::vector<const NodeView*> UsualOrder(std::vector<const NodeView*> nodes) {
  return Ordered(nodes, true);
}

std::vector<Place> ForecastOrder(const RolloutView& view) {
  std::vector<const NodeView*> pending;
  std::vector<const NodeView*> unreachable;
  std::vector<const NodeView*> others;
  for (const NodeView& node : view.nodes) {
    if (node.step != v1::ROLLOUT_STEP_PENDING) continue;
    (!node.is_worker ? others : IsTakeable(node) ? pending : unreachable).push_back(&node);
  }
  const std::vector<uint32_t>& sizes = view.limits.wave_sizes;
  uint32_t taken = TakenCount(view);
  std::vector<const NodeView*> order;
  if (IsTrial(view, view.wave) && taken < sizes[0]) {
    order = TrialOrder(pending);
    order.resize(std::min<size_t>(order.size(), sizes[0] - taken));
    const absl::flat_hash_set<const NodeView*> tried(order.begin(), order.end());
    pending.erase(std::remove_if(pending.begin(), pending.end(),
                                 [&](const NodeView* node) { return tried.contains(node); }),
                  pending.end());
  }
  for (std::vector<const NodeView*> rest : {UsualOrder(pending), UsualOrder(unreachable)}) {
    order.insert(order.end(), rest.begin(), rest.end());
  }
  std::vector<Place> places;
  uint32_t wave = view.wave;
  for (const NodeView* node : order) {
    while (wave + 1 < sizes.size() && taken >= sizes[wave]) ++wave;
    places.push_back({node->name, wave});
    ++taken;
  }
  const auto last = static_cast<uint32_t>(sizes.size() - 1);
  for (const NodeView* node : others) places.push_back({node->name, last});
  return places;
}

}  // namespace muster::controller::rollout
