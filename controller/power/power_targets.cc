#include "controller/power/power_targets.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "controller/inventory/inventory.h"
#include "controller/run/plan/reboot_room.h"
#include "controller/validation/schedule/power_budget.h"

namespace muster::controller::power {
namespace {

using Others = std::map<std::string, double>;

// As validations predict it. What no number is, they report.
validation::NodePower PowerOf(const Inventory& inventory, const Node& node) {
  validation::NodePowerFacts facts;
  for (const Variable& variable : VariablesOf(inventory, node)) {  // a later one wins
    if (!variable.value->is_number() || *variable.value <= 0) continue;
    if (variable.name == "node_power_watts") facts.full_watts = variable.value->get<double>();
    if (variable.name == "node_idle_watts") facts.idle_watts = variable.value->get<double>();
  }
  return validation::PredictPower(facts);
}

}  // namespace

std::vector<PowerTarget> TargetsOf(const Inventory& inventory,
                                   const std::vector<const Node*>& nodes,
                                   const std::function<bool(const std::string&)>& is_up) {
  std::map<std::string, std::shared_ptr<const Others>> racks;
  const auto others_in = [&](const Rack& rack) {
    std::shared_ptr<const Others>& others = racks[rack.name];
    if (others != nullptr || rack.power_limit_watts == 0) return others;
    auto found = std::make_shared<Others>();
    for (const std::string& name : rack.nodes) {
      const Node* const node = inventory.FindNode(name);
      if (node != nullptr && is_up(name)) (*found)[name] = PowerOf(inventory, *node).idle;
    }
    return others = std::move(found);
  };
  std::vector<PowerTarget> targets;
  for (const Node* node : nodes) {
    PowerTarget target{node->name, BmcAccessOf(inventory, *node), {}};
    if (const Rack* const rack = inventory.FindRack(node->rack); rack != nullptr) {
      const validation::NodePower power = PowerOf(inventory, *node);
      target.need = {rack->name,       static_cast<double>(rack->power_limit_watts),
                     power.full,       power.idle,
                     others_in(*rack), kLeastGap};
    }
    const absl::StatusOr<RebootLimits> limits = RebootLimitsOf(inventory, *node);
    if (limits.ok()) target.need.gap = std::max(kLeastGap, limits->gap);
    if (!limits.ok() && target.access.ok()) target.access = limits.status();
    targets.push_back(std::move(target));
  }
  return targets;
}

}  // namespace muster::controller::power
