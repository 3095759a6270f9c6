#include "controller/rollout/plan/slots.h"

#include "controller/rollout/plan/node_step.h"

namespace muster::controller::rollout {

bool IsOut(const NodeView& node) {
  const bool serves = node.is_available || node.is_power_saved;
  return !node.is_removed && (!serves || IsActive(node.step));
}

Slots::Slots(const RolloutView& view) : limits_(view.limits) {
  for (const NodeView& node : view.nodes) {
    if (!node.is_worker || !IsOut(node)) continue;
    const Count one = {1, IsActive(node.step) ? 1u : 0u};
    Add(one, cluster_);
    AddNear(one, node.rack, node.switch_name);
  }
  for (const OtherWorker& other : view.others_out) AddNear({1, 0}, other.rack, other.switch_name);
}

void Slots::Add(Count more, Count& count) {
  count.out += more.out;
  count.active += more.active;
}

void Slots::AddNear(Count more, absl::string_view rack, absl::string_view switch_name) {
  if (limits_.max_per_rack > 0 && !rack.empty()) Add(more, racks_[rack]);
  if (limits_.max_per_switch > 0 && !switch_name.empty()) Add(more, switches_[switch_name]);
}

// A node that is out already makes no difference to the service, but all work is limited.
bool Slots::Fits(Count count, bool is_available, uint32_t limit) {
  return count.active < limit && (!is_available || count.out < limit);
}

bool Slots::Fits(const Counts& counts, absl::string_view place, bool is_available, uint32_t limit) {
  if (limit == 0 || place.empty()) return true;
  const auto found = counts.find(place);
  return found == counts.end() || Fits(found->second, is_available, limit);
}

SlotLimit Slots::LimitOn(const NodeView& node) const {
  if (!Fits(cluster_, node.is_available, limits_.max_unavailable)) return SlotLimit::kCluster;
  if (!Fits(racks_, node.rack, node.is_available, limits_.max_per_rack)) return SlotLimit::kRack;
  if (!Fits(switches_, node.switch_name, node.is_available, limits_.max_per_switch)) {
    return SlotLimit::kSwitch;
  }
  return SlotLimit::kNone;
}

void Slots::Take(const NodeView& node) {
  const Count one = {node.is_available ? 1u : 0u, 1};
  Add(one, cluster_);
  AddNear(one, node.rack, node.switch_name);
}

}  // namespace muster::controller::rollout
