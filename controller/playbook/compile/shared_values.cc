#include "controller/playbook/compile/shared_values.h"

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "common/value/folded_value.h"
#include "controller/playbook/load/value_template.h"

namespace muster::controller::playbook {
namespace {

// Builds an object with unique keys, without the search that ordered_json makes for each new one.
class ObjectBuilder {
 public:
  // Growing would copy the values: their keys are constant, which keeps a vector from moving them.
  explicit ObjectBuilder(size_t size) : value_(Value::object()) { entries().reserve(size); }
  void Add(const std::string& key, Value value) { entries().emplace_back(key, std::move(value)); }
  Value Take() { return std::move(value_); }

 private:
  Value::object_t::Container& entries() { return value_.get_ref<Value::object_t&>(); }

  Value value_;
};

bool HasTemplate(const Value& value) {
  if (value.is_string()) return tmpl::HasTemplateSyntax(value.get_ref<const std::string&>());
  if (!value.is_structured()) return false;
  for (const Value& element : value) {
    if (HasTemplate(element)) return true;
  }
  return false;
}

// Shorter texts are copied: a reference takes as much memory.
constexpr size_t kWorthLending = 64;

bool IsWorthLending(const Value& value) {
  return value.is_structured() ||
         (value.is_string() && value.get_ref<const std::string&>().size() > kWorthLending);
}

// The values of `vars` of all nodes: one for all nodes that have the same variables.
class VarsValues {
 public:
  VarsValues(const Inventory& inventory, std::deque<Value>* shared)
      : inventory_(inventory), shared_(*shared) {}

  Value Of(const Node& node) {
    std::vector<Variable> all = VariablesOf(inventory_, node);
    std::vector<const Value*> key;
    for (const Variable& variable : all) {
      if (IsShown(variable)) key.push_back(variable.value.get());
    }
    const auto [known, is_new] = known_.try_emplace(std::move(key), nullptr);
    if (is_new) known->second = &shared_.emplace_back(Make(all));
    return Lend(*known->second);
  }

 private:
  static bool IsShown(const Variable& variable) {
    return variable.level == VariableLevel::kGroup || variable.level == VariableLevel::kNode;
  }

  Value Make(const std::vector<Variable>& variables) {
    Value vars = Value::object();
    for (const Variable& variable : variables) {
      if (!IsShown(variable)) continue;
      vars.erase(variable.name);
      const Value& value = *variable.value;
      if (!IsTemplate(value)) vars[variable.name] = IsWorthLending(value) ? Lend(value) : value;
    }
    return vars;
  }

  // Looks into a value once for all nodes that have it.
  bool IsTemplate(const Value& value) {
    const auto [known, is_new] = is_template_.try_emplace(&value, false);
    if (is_new) known->second = HasTemplate(value);
    return known->second;
  }

  const Inventory& inventory_;
  std::deque<Value>& shared_;
  absl::flat_hash_map<std::vector<const Value*>, const Value*> known_;  // by the variables' values
  absl::flat_hash_map<const Value*, bool> is_template_;
};

}  // namespace

Value NodeValue(const Node& node) {
  return {{"name", node.name},
          {"role", std::string(NodeRoleName(node.role))},
          {"address", node.address},
          {"bmc_address", node.bmc_address},
          {"mac", node.macs.empty() ? std::string() : node.macs.front()},
          {"rack", node.rack},
          {"groups", node.groups}};
}

Value NodesValue(const Inventory& inventory, const FactsByNode& facts, std::deque<Value>* shared) {
  ObjectBuilder nodes(inventory.nodes().size());
  VarsValues vars(inventory, shared);
  for (const Node& node : inventory.nodes()) {
    Value value = NodeValue(node);
    value["vars"] = vars.Of(node);
    const auto found = facts.find(node.name);
    if (found != facts.end()) value["facts"] = Lend(found->second);
    nodes.Add(node.name, std::move(value));
  }
  return nodes.Take();
}

Value OfferValue(const ControllerOffer& offer) {
  Value packages = Value::object();
  for (const auto& [architecture, package] : offer.agent_packages)
    packages[architecture] = {{"url", package.url}, {"sha256", package.sha256}};
  Value snapshots = Value::object();
  for (const auto& [name, repositories] : offer.snapshots) {
    Value list = Value::array();
    for (const ControllerOffer::Repository& repository : repositories) {
      list.push_back({{"name", repository.name},
                      {"uris", Value::array({repository.uri})},
                      {"suites", repository.suites},
                      {"components", repository.components},
                      {"architectures", repository.architectures},
                      {"signed_by", repository.signed_by},
                      {"key", repository.key},
                      {"allow_expired", true}});
    }
    snapshots[name] = std::move(list);
  }
  return {{"version", offer.version},
          {"address", offer.address},
          {"agent_packages", std::move(packages)},
          {"snapshots", std::move(snapshots)}};
}

Value GroupsValue(const Inventory& inventory) {
  ObjectBuilder groups(inventory.groups().size());
  for (const Group& group : inventory.groups()) groups.Add(group.name, group.nodes);
  return groups.Take();
}

Value PartitionsValue(const Inventory& inventory) {
  ObjectBuilder partitions(inventory.partitions().size());
  for (const Partition& partition : inventory.partitions()) {
    partitions.Add(partition.name, {{"name", partition.name},
                                    {"nodes", partition.nodes},
                                    {"default", partition.is_default},
                                    {"max_time", partition.max_time},
                                    {"state", std::string(PartitionStateName(partition.state))}});
  }
  return partitions.Take();
}

Value RacksValue(const Inventory& inventory) {
  ObjectBuilder racks(inventory.racks().size());
  for (const Rack& rack : inventory.racks()) {
    racks.Add(rack.name, {{"name", rack.name},
                          {"nodes", rack.nodes},
                          {"power_limit_watts", rack.power_limit_watts},
                          {"switch", rack.switch_name}});
  }
  return racks.Take();
}

}  // namespace muster::controller::playbook
