#include "controller/validation/schedule/power_budget.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"

namespace muster::controller::validation {
namespace {

// Sums of many watts in a different order may differ in the last bits.
constexpr double kRoundingWatts = 1e-6;

}  // namespace

double NodePower::Of(checks::Load load) const {
  switch (load) {
    case checks::Load::kIdle:
      return idle;
    case checks::Load::kCpu:
    case checks::Load::kNetwork:
      return cpu;
    case checks::Load::kGpu:
      return full;
  }
  return full;
}

NodePower PredictPower(const NodePowerFacts& facts) {
  const double gpus = std::accumulate(facts.gpu_limits.begin(), facts.gpu_limits.end(), 0.0);
  NodePower power;
  power.full = facts.full_watts.value_or(facts.rest_watts + gpus);
  power.idle = std::min(facts.idle_watts.value_or(kDefaultIdleWatts), power.full);
  power.cpu = std::clamp(power.full - gpus, power.idle, power.full);
  return power;
}

PowerBudget::PowerBudget(std::vector<RackPower> racks, PowerRamp ramp) : ramp_(ramp) {
  for (RackPower& rack : racks) {
    rack_index_[rack.name] = racks_.size();
    racks_.emplace_back().power = std::move(rack);
  }
}

void PowerBudget::AddNode(absl::string_view node, absl::string_view rack, const NodePower& power) {
  TestedNode& added = nodes_[std::string(node)];
  added.predicted = power;
  const auto found = rack_index_.find(std::string(rack));
  if (found == rack_index_.end()) return;
  added.rack = found->second;
  racks_[added.rack].nodes.emplace_back(node);
  racks_[added.rack].reserved += power.idle;
  racks_[added.rack].idle += power.idle;
}

double PowerBudget::WattsOf(const TestedNode& node, checks::Load load) const {
  const auto measured = node.measured.find(load);
  return std::max(node.predicted.Of(load), measured == node.measured.end() ? 0 : measured->second);
}

bool PowerBudget::HasLoad(const TestedNode& node, bool with_stopping) const {
  return absl::c_any_of(node.loads, [&](const auto& each) {
    return each.second != checks::Load::kIdle &&
           (with_stopping || !reservations_.find(each.first)->second.stopping);
  });
}

double PowerBudget::Draws(const TestedNode& node, bool with_stopping) const {
  double watts = node.predicted.idle;
  for (const auto& [id, load] : node.loads) {
    if (!with_stopping && reservations_.find(id)->second.stopping) continue;
    watts = std::max(watts, WattsOf(node, load));
  }
  return watts;
}

bool PowerBudget::Carries(const Rack& rack, double tested_watts, const std::vector<Member>& members,
                          bool with_stopping) const {
  const double limit = rack.power.limit_watts + kRoundingWatts;
  if (rack.power.limit_watts <= 0 || tested_watts + rack.power.others_watts <= limit) return true;
  if (tested_watts > limit) return false;
  const bool is_alone = absl::c_none_of(rack.nodes, [&](const std::string& name) {
    return HasLoad(nodes_.find(name)->second, with_stopping) &&
           absl::c_none_of(members, [&](const Member& member) { return member.node == name; });
  });
  return is_alone && !(others_load_ && others_load_(rack.power.name, with_stopping));
}

std::map<size_t, double> PowerBudget::Added(const std::vector<Member>& members) const {
  std::map<size_t, double> added;
  for (const Member& member : members) {
    const auto node = nodes_.find(member.node);
    if (node == nodes_.end() || node->second.rack == kNoRack) continue;
    const double more = WattsOf(node->second, member.load) - Draws(node->second);
    if (more > 0) added[node->second.rack] += more;
  }
  return added;
}

std::string PowerBudget::WhyNever(const std::vector<Member>& members) const {
  std::map<size_t, double> needed;
  for (const Member& member : members) {
    const auto node = nodes_.find(member.node);
    if (node == nodes_.end() || node->second.rack == kNoRack) continue;
    const double more = WattsOf(node->second, member.load) - node->second.predicted.idle;
    if (more > 0) needed[node->second.rack] += more;
  }
  for (const auto& [index, watts] : needed) {
    const Rack& rack = racks_[index];
    if (rack.power.limit_watts <= 0) continue;
    if (rack.idle + watts <= rack.power.limit_watts + kRoundingWatts) continue;
    return absl::StrFormat(
        "needs %.0f W on top of the %.0f W that the nodes under test in rack %s draw idle, and the "
        "rack carries %.0f W; correct node_power_watts, node_idle_watts and power_limit_watts in "
        "the inventory, or test fewer nodes at once",
        watts, rack.idle, rack.power.name, rack.power.limit_watts);
  }
  return "";
}

bool PowerBudget::TryStart(absl::string_view id, const std::vector<Member>& members,
                           absl::Time now) {
  const std::map<size_t, double> added = Added(members);
  for (const auto& [index, watts] : added) {
    const Rack& rack = racks_[index];
    const double limit = rack.power.limit_watts;
    if (limit <= 0) continue;
    if (!Carries(rack, rack.reserved + watts, members)) return false;
    const bool same_step = now < rack.last_added + ramp_.interval;
    if (same_step && rack.step_watts + watts > ramp_.step_share * limit) return false;
  }
  for (const auto& [index, watts] : added) {
    Rack& rack = racks_[index];
    if (now >= rack.last_added + ramp_.interval) rack.step_watts = 0;
    rack.step_watts += watts;
    rack.last_added = now;
  }
  Resume(id, members);
  return true;
}

void PowerBudget::Resume(absl::string_view id, const std::vector<Member>& members) {
  reservations_[std::string(id)] = {++next_number_, members, false};
  for (const Member& member : members) {
    const auto node = nodes_.find(member.node);
    if (node != nodes_.end()) Change(node->second, id, member.load);
  }
}

void PowerBudget::Finish(absl::string_view id) {
  const auto found = reservations_.find(std::string(id));
  if (found == reservations_.end()) return;
  for (const Member& member : found->second.members) {
    const auto node = nodes_.find(member.node);
    if (node != nodes_.end()) Change(node->second, id, std::nullopt);
  }
  reservations_.erase(found);
}

void PowerBudget::Change(TestedNode& node, absl::string_view id, std::optional<checks::Load> load) {
  const double before = Draws(node);
  if (load.has_value()) {
    node.loads[std::string(id)] = *load;
  } else {
    node.loads.erase(std::string(id));
  }
  if (node.rack != kNoRack) racks_[node.rack].reserved += Draws(node) - before;
}

std::vector<std::string> PowerBudget::Measured(absl::string_view name, double watts) {
  const auto found = nodes_.find(std::string(name));
  if (found == nodes_.end() || found->second.loads.empty()) return {};
  TestedNode& node = found->second;
  const double before = Draws(node);
  if (watts <= before) return {};
  // The check with the highest predicted draw is the one that draws more.
  checks::Load most = node.loads.begin()->second;
  for (const auto& [id, load] : node.loads) {
    if (WattsOf(node, load) > WattsOf(node, most)) most = load;
  }
  node.measured[most] = watts;
  if (node.rack == kNoRack) return {};
  Rack& rack = racks_[node.rack];
  rack.reserved += watts - before;
  std::vector<std::string> stop;
  while (true) {
    double tested_watts = 0;
    std::map<std::string, Reservation, std::less<>>::iterator newest = reservations_.end();
    for (const std::string& name : rack.nodes) {
      const TestedNode& tested = nodes_.find(name)->second;
      tested_watts += Draws(tested, /*with_stopping=*/false);
      for (const auto& [id, load] : tested.loads) {
        const auto candidate = reservations_.find(id);
        if (candidate->second.stopping || load == checks::Load::kIdle) continue;
        if (newest == reservations_.end() || newest->second.number < candidate->second.number) {
          newest = candidate;
        }
      }
    }
    if (newest == reservations_.end() ||
        Carries(rack, tested_watts, newest->second.members, /*with_stopping=*/false)) {
      return stop;
    }
    newest->second.stopping = true;
    stop.push_back(newest->first);
  }
}

double PowerBudget::RackWatts(absl::string_view name) const {
  const auto found = rack_index_.find(std::string(name));
  if (found == rack_index_.end()) return 0;
  const Rack& rack = racks_[found->second];
  return rack.power.others_watts + rack.reserved;
}

bool PowerBudget::HasLoad(absl::string_view rack, bool with_stopping) const {
  const auto found = rack_index_.find(std::string(rack));
  return found != rack_index_.end() &&
         absl::c_any_of(racks_[found->second].nodes, [&](const std::string& name) {
           return HasLoad(nodes_.find(name)->second, with_stopping);
         });
}

}  // namespace muster::controller::validation
