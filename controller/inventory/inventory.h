// The desired state of the cluster: nodes, groups, racks, partitions and variables, checked.
// docs/inventory.md describes the format of the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/yaml/document.h"

namespace muster::controller {

// The place where something was written; line and column count from 1, and are 0 where it was not
// written at all.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;

  std::string ToString() const;  // "cluster.yaml:12"
};

enum class NodeRole { kLogin, kCompute, kStorage };
absl::string_view NodeRoleName(NodeRole role);  // "login", "compute", "storage"

// The five levels of variables, weakest first. The inventory holds the middle three.
enum class VariableLevel { kRoleDefaults, kInventory, kGroup, kNode, kCommandLine };
// "role defaults", "inventory vars", "group vars", "node vars", "command line"
absl::string_view VariableLevelName(VariableLevel level);

struct Variable {
  std::string name;
  // Never nullptr. Shared: a group's value is one object for all of its nodes.
  std::shared_ptr<const nlohmann::ordered_json> value;
  VariableLevel level = VariableLevel::kInventory;
  std::string owner;  // the group or node that it belongs to; "" for the whole inventory
  Place place;        // of its name
  // The value where it was written, as the root, so that the errors of its templates show their own
  // places. Only where it may hold a template: trees take more memory than values.
  std::optional<yaml::Document> written = std::nullopt;
};

struct Node {
  std::string name;
  NodeRole role = NodeRole::kCompute;
  std::string address;            // IP address or host name; the node's name where none was written
  std::string bmc_address;        // of the management controller; "" where none was written
  std::vector<std::string> macs;  // of its ports, lower case with colons; no other node has them
  std::string rack;               // "" where in none
  // All groups that the node is in, directly or by nesting, the general before the special: "all",
  // its role's group, then explicit groups, each before those nested in it.
  std::vector<std::string> groups;
  std::vector<Variable> vars;  // its own only; see VariablesOf
  Place place;
};

struct Rack {
  std::string name;
  int power_limit_watts = 0;  // 0 where no limit was written
  std::string switch_name;    // "" where none was written
  // The total bandwidth of that switch's uplinks, one way; 0 where it was not written. All racks of
  // one switch have the same value.
  double uplink_gbits_per_s = 0;
  std::vector<std::string> nodes;  // in inventory order
  Place place;
};

struct Group {
  std::string name;
  bool implicit = false;            // all, login, compute, storage
  std::vector<std::string> groups;  // nested directly in it
  std::vector<std::string> nodes;   // with those of nested groups, in inventory order
  std::vector<Variable> vars;
  Place place;
};

// Defined in update_policy.h, drift_policy.h, notification_channel.h and snapshot_source.h.
struct UpdatePolicy;
struct DriftPolicy;
struct NotificationChannel;
struct SnapshotSource;

// Defined in health_policy.h.
class HealthPolicy;

enum class PartitionState { kUp, kDown, kDrain, kInactive };

// A Slurm partition.
struct Partition {
  std::string name;
  std::vector<std::string> nodes;  // in inventory order; all of role compute; never empty
  bool is_default = false;
  std::string max_time;  // in Slurm's format ("7-00:00:00", "UNLIMITED"); "" where none was written
  PartitionState state = PartitionState::kUp;
  Place place;
};
absl::string_view PartitionStateName(PartitionState state);  // "UP", "DOWN", "DRAIN", "INACTIVE"

// A checked inventory: every reference in it resolves. Immutable, so threads may share it.
class Inventory {
 public:
  const std::string& cluster() const { return cluster_; }
  const std::string& domain() const { return domain_; }  // "" where none was written
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Rack>& racks() const { return racks_; }
  const std::vector<Group>& groups() const { return groups_; }  // the four implicit ones first
  const std::vector<Partition>& partitions() const { return partitions_; }
  // Updates of workers without a command; never nullptr.
  const std::vector<std::shared_ptr<const UpdatePolicy>>& updates() const { return updates_; }
  // What is watched for differences from what was applied; never nullptr.
  const std::vector<std::shared_ptr<const DriftPolicy>>& drift() const { return drift_; }
  // Where notifications go; never nullptr.
  const std::vector<std::shared_ptr<const NotificationChannel>>& channels() const {
    return channels_;
  }
  // The repositories of which snapshots are made; never nullptr.
  const std::vector<std::shared_ptr<const SnapshotSource>>& snapshots() const { return snapshots_; }
  // What is done about the health of nodes; without a section `health:` what the catalogue says.
  const HealthPolicy& health() const;
  const std::vector<Variable>& vars() const { return vars_; }

  // nullptr when there is none with that name. The pointers live as long as the inventory.
  const Node* FindNode(absl::string_view name) const;
  const Node* FindMac(absl::string_view mac) const;  // lower case with colons
  const Rack* FindRack(absl::string_view name) const;
  const Group* FindGroup(absl::string_view name) const;
  const Partition* FindPartition(absl::string_view name) const;
  const UpdatePolicy* FindUpdate(absl::string_view name) const;

 private:
  friend class InventoryBuilder;

  std::string cluster_;
  std::string domain_;
  std::vector<Node> nodes_;
  std::vector<Rack> racks_;
  std::vector<Group> groups_;
  std::vector<Partition> partitions_;
  std::vector<std::shared_ptr<const UpdatePolicy>> updates_;
  std::vector<std::shared_ptr<const DriftPolicy>> drift_;
  std::vector<std::shared_ptr<const NotificationChannel>> channels_;
  std::vector<std::shared_ptr<const SnapshotSource>> snapshots_;
  std::shared_ptr<const HealthPolicy> health_;
  std::vector<Variable> vars_;
  absl::flat_hash_map<std::string, size_t> node_index_;
  absl::flat_hash_map<std::string, size_t> mac_index_;
  absl::flat_hash_map<std::string, size_t> group_index_;
};

// Reads an inventory from its files (path → content), merged: one YAML file, or those of a folder.
// Files in a folder named group_vars or node_vars hold variables of the group or node that the file
// is named after. Pure.
//
// `check_variable` says what is wrong with the name of a variable, "" for nothing. It is for files
// that people hand in, whose empty lists are errors, too, where no list stands for everything. What
// was stored must stay readable when a later version is stricter: nullptr.
//
// InvalidArgument holds all errors that were found (the first 20), one after the other, each with
// file:line:column, the line itself and the nearest known word.
using VariableCheck = std::string (*)(absl::string_view name);
absl::StatusOr<Inventory> ParseInventory(const std::map<std::string, std::string>& files,
                                         VariableCheck check_variable = nullptr);

// The inventory's variables that apply to `node`, weakest first: a later one of the same name wins.
// The list includes overridden ones, so that `explain` can show them.
std::vector<Variable> VariablesOf(const Inventory& inventory, const Node& node);

// The nodes that a pattern names, in inventory order, each once. Terms are joined by commas: a node
// or a host list (c[001-003]), a group, a glob over node names (c0*), "rack:NAME"; "!term" removes
// nodes from the result of all others, or from all nodes when there are only exclusions.
// InvalidArgument for an unknown name (with the nearest known one), for a glob that matches nothing
// and for a pattern that would take seconds; the result is empty only where groups are empty or
// exclusions left nothing.
absl::StatusOr<std::vector<const Node*>> Select(const Inventory& inventory,
                                                absl::string_view pattern);

// The changes from `before` to `now`, a line each, for people: "+ nodes c[007-008]: compute", "-
// rack r2", "~ nodes c[001-003]: rack r1 -> r2", "~ var apt_proxy: \"x\" -> \"y\"". Empty when
// nothing of meaning differs.
std::vector<std::string> DiffInventory(const Inventory& before, const Inventory& now);

// The whole inventory, resolved, for `show`: nodes by name with their own variables, racks,
// groups, partitions, update policies, notification channels, what is written about health. Node
// lists are folded (c[001-006]).
nlohmann::ordered_json ToValue(const Inventory& inventory);
// The SHA-256 of all that a playbook can find in it, and hence not of its policies.
std::string ContentDigest(const Inventory& inventory);

}  // namespace muster::controller
