#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/nearest_word.h"
#include "controller/inventory/builder.h"

namespace muster::controller {
namespace {

constexpr size_t kAll = 0;  // index of the implicit group

template <typename T>
std::vector<std::string> NamesOf(const std::vector<T>& list) {
  std::vector<std::string> names;
  names.reserve(list.size());
  for (const T& element : list) names.push_back(element.name);
  return names;
}

void SortUnique(std::vector<size_t>* indices) {
  std::sort(indices->begin(), indices->end());
  indices->erase(std::unique(indices->begin(), indices->end()), indices->end());
}

}  // namespace

void InventoryBuilder::Resolve() {
  ReadVarsFiles();
  for (const Group& group : inventory_.groups_) {
    const Node* node = inventory_.FindNode(group.name);
    if (node == nullptr) continue;
    errors_.Add(OriginOf(node->place),
                group.implicit
                    ? absl::StrCat("node ", node->name, " has the name of an implicit group: all, ",
                                   "login, compute and storage cannot be names of nodes")
                    : absl::StrCat("node ", node->name, " has the name of a group (",
                                   group.place.ToString(), ")"));
  }
  ResolveNestedGroups();
  if (CheckGroupCycles()) {
    ResolveGroupMembers();
    CheckGroupVariables();
    ResolvePartitions();
    ResolveUpdates();
    ResolveDrift();
    inventory_.health_ = health_.Resolve(inventory_);
  }
  ResolveRacks();
}

Origin InventoryBuilder::OriginOf(const Place& place) const {
  for (const yaml::Document& document : documents_) {
    if (document.file_name() == place.file) return {&document, {place.line, place.column}};
  }
  return {};
}

void InventoryBuilder::ReadVarsFiles() {
  for (const VarsFile& file : vars_files_) {
    std::vector<Variable>* vars = nullptr;
    if (file.of_group) {
      const auto found = inventory_.group_index_.find(file.owner);
      if (found != inventory_.group_index_.end()) vars = &inventory_.groups_[found->second].vars;
    } else {
      const auto found = inventory_.node_index_.find(file.owner);
      if (found != inventory_.node_index_.end()) vars = &inventory_.nodes_[found->second].vars;
    }
    if (vars != nullptr) {
      ReadVars(*file.document, file.document->root(),
               file.of_group ? VariableLevel::kGroup : VariableLevel::kNode, file.owner, vars);
      continue;
    }
    const absl::string_view kind = file.of_group ? "group" : "node";
    errors_.Add(Origin{file.document, {1, 1}},
                absl::StrCat("the file is named after an unknown ", kind, " '", file.owner, "'",
                             DidYouMean(file.owner, file.of_group ? NamesOf(inventory_.groups_)
                                                                  : NamesOf(inventory_.nodes_))));
  }
}

std::optional<size_t> InventoryBuilder::ResolveGroup(const Reference& reference) {
  const auto found = inventory_.group_index_.find(reference.text);
  if (found == inventory_.group_index_.end()) {
    if (inventory_.FindNode(reference.text) != nullptr) {
      errors_.Add(reference.origin,
                  absl::StrCat("'", reference.text, "' is a node; write the name of a group"));
    } else {
      errors_.Add(reference.origin,
                  absl::StrCat("unknown group '", reference.text, "'",
                               DidYouMean(reference.text, NamesOf(inventory_.groups_))));
    }
    return std::nullopt;
  }
  if (inventory_.groups_[found->second].implicit) {
    errors_.Add(reference.origin, absl::StrCat("group '", reference.text,
                                               "' is implicit: the role of a node decides who is "
                                               "in it"));
    return std::nullopt;
  }
  return found->second;
}

std::vector<size_t> InventoryBuilder::ResolveNodes(const Reference& reference) {
  const absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(reference.text);
  if (!names.ok()) {
    errors_.AddHostlist(reference.origin, names.status());
    return {};
  }
  std::vector<size_t> nodes;
  std::vector<std::string> unknown;
  for (const std::string& name : *names) {
    const auto found = inventory_.node_index_.find(name);
    if (found == inventory_.node_index_.end()) {
      unknown.push_back(name);
    } else {
      nodes.push_back(found->second);
    }
  }
  if (unknown.empty() || errors_.full()) return nodes;
  const bool is_group = inventory_.FindGroup(unknown.front()) != nullptr;
  errors_.Add(reference.origin,
              is_group ? absl::StrCat("'", unknown.front(), "' is a group; write nodes here")
                       : absl::StrCat("unknown node ", FoldHostlist(unknown),
                                      DidYouMean(unknown.front(), NamesOf(inventory_.nodes_))));
  return nodes;
}

void InventoryBuilder::ResolveNestedGroups() {
  for (size_t i = 0; i < group_sources_.size(); ++i) {
    GroupSource& source = group_sources_[i];
    for (const Reference& reference : source.groups) {
      const std::optional<size_t> nested = ResolveGroup(reference);
      if (!nested.has_value()) continue;
      source.nested.push_back({*nested, reference.origin});
      inventory_.groups_[i].groups.push_back(reference.text);
    }
  }
}

bool InventoryBuilder::CheckGroupCycles() {
  enum State : char { kNew, kOpen, kDone };
  std::vector<State> states(group_sources_.size(), kNew);
  struct Step {
    size_t group;
    size_t next = 0;  // index into its nested groups
  };
  bool none = true;
  for (size_t start = 0; start < group_sources_.size(); ++start) {
    if (states[start] != kNew) continue;
    std::vector<Step> path = {{start}};
    states[start] = kOpen;
    while (!path.empty()) {
      const size_t group = path.back().group;
      const GroupSource& source = group_sources_[group];
      if (path.back().next == source.nested.size()) {
        states[group] = kDone;
        path.pop_back();
        continue;
      }
      const auto& [nested, origin] = source.nested[path.back().next++];
      if (states[nested] == kNew) {
        states[nested] = kOpen;
        path.push_back({nested});
      } else if (states[nested] == kOpen) {
        none = false;
        std::string cycle;
        bool inside = false;
        for (const Step& step : path) {
          inside = inside || step.group == nested;
          if (inside) absl::StrAppend(&cycle, inventory_.groups_[step.group].name, " → ");
        }
        errors_.Add(origin, absl::StrCat("groups nest in a cycle: ", cycle,
                                         inventory_.groups_[nested].name));
      }
    }
  }
  return none;
}

std::vector<size_t> InventoryBuilder::GeneralToSpecial() const {
  std::vector<size_t> parents(group_sources_.size(), 0);
  for (const GroupSource& source : group_sources_) {
    for (const Nested& nested : source.nested) ++parents[nested.group];
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < parents.size(); ++i) {
    if (parents[i] == 0) ready.push(i);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t group = ready.top();
    ready.pop();
    order.push_back(group);
    for (const Nested& nested : group_sources_[group].nested) {
      if (--parents[nested.group] == 0) ready.push(nested.group);
    }
  }
  return order;
}

void InventoryBuilder::ResolveGroupMembers() {
  std::vector<std::vector<size_t>> members(group_sources_.size());
  for (size_t i = 0; i < inventory_.nodes_.size(); ++i) {
    members[kAll].push_back(i);
    members[inventory_.group_index_.at(NodeRoleName(inventory_.nodes_[i].role))].push_back(i);
  }
  for (size_t i = 0; i < group_sources_.size(); ++i) {
    for (const Reference& reference : group_sources_[i].nodes) {
      const std::vector<size_t> nodes = ResolveNodes(reference);
      members[i].insert(members[i].end(), nodes.begin(), nodes.end());
    }
  }
  for (const NodeBlock& block : node_blocks_) {
    for (const Reference& reference : block.groups) {
      const std::optional<size_t> group = ResolveGroup(reference);
      if (!group.has_value()) continue;
      members[*group].insert(members[*group].end(), block.nodes.begin(), block.nodes.end());
    }
  }
  const std::vector<size_t> order = GeneralToSpecial();
  for (auto group = order.rbegin(); group != order.rend(); ++group) {
    for (const Nested& nested : group_sources_[*group].nested) {
      const std::vector<size_t>& its = members[nested.group];
      members[*group].insert(members[*group].end(), its.begin(), its.end());
    }
    SortUnique(&members[*group]);
  }
  for (const size_t group : order) {
    for (const size_t node : members[group]) {
      inventory_.groups_[group].nodes.push_back(inventory_.nodes_[node].name);
      inventory_.nodes_[node].groups.push_back(inventory_.groups_[group].name);
    }
  }
}

void InventoryBuilder::ResolveRacks() {
  std::vector<Origin> placed(inventory_.nodes_.size());
  const auto put = [&](size_t node_index, const std::string& rack, const Origin& origin) {
    Node& node = inventory_.nodes_[node_index];
    if (node.rack.empty()) {
      node.rack = rack;
      placed[node_index] = origin;
    } else if (node.rack != rack) {
      errors_.Add(origin,
                  absl::StrCat("node ", node.name, " is in two racks: ", rack, " and ", node.rack,
                               " (", placed[node_index].ToPlace().ToString(), ")"));
    }
  };
  for (size_t i = 0; i < rack_sources_.size(); ++i) {
    for (const Reference& reference : rack_sources_[i].nodes) {
      for (const size_t node : ResolveNodes(reference)) {
        put(node, inventory_.racks_[i].name, reference.origin);
      }
    }
  }
  for (const NodeBlock& block : node_blocks_) {
    if (!block.rack.has_value()) continue;
    if (inventory_.FindRack(block.rack->text) == nullptr) {
      errors_.Add(block.rack->origin,
                  absl::StrCat("unknown rack '", block.rack->text, "'",
                               DidYouMean(block.rack->text, NamesOf(inventory_.racks_))));
      continue;
    }
    for (const size_t node : block.nodes) put(node, block.rack->text, block.rack->origin);
  }
  absl::flat_hash_map<std::string, Rack*> racks;
  for (Rack& rack : inventory_.racks_) racks[rack.name] = &rack;
  for (const Node& node : inventory_.nodes_) {
    if (!node.rack.empty()) racks[node.rack]->nodes.push_back(node.name);
  }
}

std::optional<std::vector<const Node*>> InventoryBuilder::SelectAll(
    const std::vector<Reference>& references,
    absl::FunctionRef<std::string(const Node&)> problem_of) {
  std::vector<const Node*> nodes;
  bool is_known = true;
  for (const Reference& reference : references) {
    const absl::StatusOr<std::vector<const Node*>> selected = Select(inventory_, reference.text);
    if (!selected.ok()) {
      errors_.AddHostlist(reference.origin, selected.status());
      is_known = false;
      continue;
    }
    for (const Node* node : *selected) {
      const std::string problem = problem_of(*node);
      if (problem.empty()) continue;
      errors_.Add(reference.origin, problem);
      is_known = false;
      break;
    }
    nodes.insert(nodes.end(), selected->begin(), selected->end());
  }
  if (!is_known) return std::nullopt;
  std::sort(nodes.begin(), nodes.end());  // into inventory order: they are elements of one vector
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::optional<std::vector<const Node*>> InventoryBuilder::ResolveWorkers(
    const std::vector<Reference>& references, absl::string_view whose, absl::string_view why) {
  return SelectAll(references, [&](const Node& node) {
    return node.role == NodeRole::kCompute
               ? ""
               : absl::StrCat(whose, " contains node ", node.name, " of role ",
                              NodeRoleName(node.role), "; ", why);
  });
}

void InventoryBuilder::ResolvePartitions() {
  const Partition* default_partition = nullptr;
  for (size_t i = 0; i < partition_sources_.size(); ++i) {
    Partition& partition = inventory_.partitions_[i];
    const ListSource& source = partition_sources_[i];
    const std::optional<std::vector<const Node*>> nodes = ResolveWorkers(
        source.nodes, absl::StrCat("partition ", partition.name), "jobs run on compute nodes only");
    if (nodes.has_value()) {
      for (const Node* node : *nodes) partition.nodes.push_back(node->name);
    }
    if (nodes.has_value() && nodes->empty()) {
      errors_.Add(source.origin,
                  absl::StrCat("partition ", partition.name, " has no nodes: set 'nodes'"));
    }
    if (!partition.is_default) continue;
    if (default_partition != nullptr) {
      errors_.Add(
          source.origin,
          absl::StrCat("partition ", partition.name, " and partition ", default_partition->name,
                       " (", default_partition->place.ToString(), ") are both the default"));
    }
    default_partition = &partition;
  }
}

// A variable that unrelated groups of a node set differently has no value that everyone would
// expect.
void InventoryBuilder::CheckGroupVariables() {
  const std::vector<Group>& groups = inventory_.groups_;
  // All groups nested in each, at any depth.
  std::vector<absl::flat_hash_set<size_t>> inside(groups.size());
  const std::vector<size_t> order = GeneralToSpecial();
  for (auto group = order.rbegin(); group != order.rend(); ++group) {
    for (const Nested& nested : group_sources_[*group].nested) {
      inside[*group].insert(nested.group);
      inside[*group].insert(inside[nested.group].begin(), inside[nested.group].end());
    }
  }
  struct Setter {
    size_t group;
    const Variable* variable;
  };
  struct Conflict {
    const Variable* first;
    const Variable* second;
  };
  const auto conflicts_of = [&](const Node& node) {
    std::map<std::string, std::vector<Setter>> setters;
    for (const std::string& name : node.groups) {
      const size_t group = inventory_.group_index_.at(name);
      if (groups[group].implicit) continue;  // more general than any other
      for (const Variable& variable : groups[group].vars) {
        setters[variable.name].push_back({group, &variable});
      }
    }
    std::vector<Conflict> conflicts;
    for (const auto& [name, all] : setters) {
      std::vector<Setter> special;  // those that no nested group overrides
      for (const Setter& setter : all) {
        const bool is_overridden = std::any_of(all.begin(), all.end(), [&](const Setter& other) {
          return inside[setter.group].contains(other.group);
        });
        if (!is_overridden) special.push_back(setter);
      }
      for (size_t i = 1; i < special.size(); ++i) {
        if (*special[i].variable->value == *special[0].variable->value) continue;
        conflicts.push_back({special[0].variable, special[i].variable});
      }
    }
    return conflicts;
  };

  absl::flat_hash_map<std::string, std::vector<Conflict>> by_groups;  // most nodes share theirs
  std::set<std::pair<const Variable*, const Variable*>> reported;
  for (const Node& node : inventory_.nodes_) {
    const std::string key = absl::StrJoin(node.groups, ",");
    auto found = by_groups.find(key);
    if (found == by_groups.end()) found = by_groups.emplace(key, conflicts_of(node)).first;
    for (const Conflict& conflict : found->second) {
      const bool node_decides =
          std::any_of(node.vars.begin(), node.vars.end(),
                      [&](const Variable& own) { return own.name == conflict.first->name; });
      if (node_decides || !reported.insert({conflict.first, conflict.second}).second) continue;
      errors_.Add(OriginOf(conflict.second->place),
                  absl::StrCat(
                      "node ", node.name, " gets '", conflict.first->name,
                      "' from two unrelated groups with different values: ", conflict.second->owner,
                      " and ", conflict.first->owner, " (", conflict.first->place.ToString(),
                      "); nest one group in the other, or set it on the node"));
    }
  }
}

}  // namespace muster::controller
