#include "controller/inventory/inventory.h"

#include "absl/strings/str_cat.h"
#include "controller/inventory/health_policy.h"
#include "controller/inventory/update_policy.h"

namespace muster::controller {
namespace {

template <typename T>
const T* FindByName(const std::vector<T>& list, absl::string_view name) {
  for (const T& element : list) {
    if (element.name == name) return &element;
  }
  return nullptr;
}

}  // namespace

std::string Place::ToString() const { return absl::StrCat(file, ":", line); }

absl::string_view NodeRoleName(NodeRole role) {
  switch (role) {
    case NodeRole::kLogin:
      return "login";
    case NodeRole::kCompute:
      return "compute";
    case NodeRole::kStorage:
      return "storage";
  }
  return "?";
}

absl::string_view VariableLevelName(VariableLevel level) {
  switch (level) {
    case VariableLevel::kRoleDefaults:
      return "role defaults";
    case VariableLevel::kInventory:
      return "inventory vars";
    case VariableLevel::kGroup:
      return "group vars";
    case VariableLevel::kNode:
      return "node vars";
    case VariableLevel::kCommandLine:
      return "command line";
  }
  return "?";
}

absl::string_view PartitionStateName(PartitionState state) {
  switch (state) {
    case PartitionState::kUp:
      return "UP";
    case PartitionState::kDown:
      return "DOWN";
    case PartitionState::kDrain:
      return "DRAIN";
    case PartitionState::kInactive:
      return "INACTIVE";
  }
  return "?";
}

const HealthPolicy& Inventory::health() const {
  static const HealthPolicy& none = *new HealthPolicy();  // of an inventory without nodes
  return health_ == nullptr ? none : *health_;
}

const Node* Inventory::FindNode(absl::string_view name) const {
  const auto found = node_index_.find(name);
  return found == node_index_.end() ? nullptr : &nodes_[found->second];
}

const Node* Inventory::FindMac(absl::string_view mac) const {
  const auto found = mac_index_.find(mac);
  return found == mac_index_.end() ? nullptr : &nodes_[found->second];
}

const Group* Inventory::FindGroup(absl::string_view name) const {
  const auto found = group_index_.find(name);
  return found == group_index_.end() ? nullptr : &groups_[found->second];
}

const Rack* Inventory::FindRack(absl::string_view name) const { return FindByName(racks_, name); }

const Partition* Inventory::FindPartition(absl::string_view name) const {
  return FindByName(partitions_, name);
}

const UpdatePolicy* Inventory::FindUpdate(absl::string_view name) const {
  for (const auto& policy : updates_) {
    if (policy->name == name) return policy.get();
  }
  return nullptr;
}

std::vector<Variable> VariablesOf(const Inventory& inventory, const Node& node) {
  std::vector<Variable> all = inventory.vars();
  for (const std::string& name : node.groups) {
    const Group* group = inventory.FindGroup(name);
    all.insert(all.end(), group->vars.begin(), group->vars.end());
  }
  all.insert(all.end(), node.vars.begin(), node.vars.end());
  return all;
}

}  // namespace muster::controller
