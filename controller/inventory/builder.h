// Builds the checked Inventory from its documents; internal to controller/inventory.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/yaml/document.h"
#include "common/yaml/map_reader.h"
#include "controller/inventory/drift_policy.h"
#include "controller/inventory/errors.h"
#include "controller/inventory/health_reader.h"
#include "controller/inventory/inventory.h"
#include "controller/inventory/notification_channel.h"
#include "controller/inventory/snapshot_source.h"
#include "controller/inventory/update_policy.h"

namespace muster::controller {

// Reads all files first (builder.cc), then resolves references (resolve.cc), since a file may refer
// to names that a later one defines. Used once.
class InventoryBuilder {
 public:
  // See ParseInventory().
  explicit InventoryBuilder(VariableCheck check_variable);
  absl::StatusOr<Inventory> Build(const std::map<std::string, std::string>& files);

 private:
  struct Nested {
    size_t group;
    Origin origin;
  };
  // The source of the inventory's element with the same index: what was written about it besides
  // its own values.
  struct GroupSource {
    Origin origin;
    std::vector<Reference> nodes;
    std::vector<Reference> groups;
    std::vector<Nested> nested;  // `groups`, resolved
  };
  struct ListSource {  // for a rack or partition
    Origin origin;
    std::vector<Reference> nodes;
  };
  // One entry of `nodes:`, which may define many nodes.
  struct NodeBlock {
    std::vector<size_t> nodes;
    std::vector<Reference> groups;
    std::optional<Reference> rack;
  };
  struct UpdateSource {
    Origin origin;
    std::shared_ptr<UpdatePolicy> policy;  // the inventory's, until it is resolved
    std::vector<Reference> nodes;
    std::vector<Reference> waves;
    std::optional<Reference> max_unavailable;
  };
  struct DriftSource {
    Origin origin;
    std::shared_ptr<DriftPolicy> policy;  // the inventory's, until it is resolved
    std::vector<Reference> nodes;
  };
  struct VarsFile {
    const yaml::Document* document;
    std::string owner;
    bool of_group;
  };

  void ReadSections(const yaml::Document& document);
  void ReadOnce(const yaml::Document& document, const yaml::Entry& entry, Origin* first,
                std::string* out);
  void ReadNodes(const yaml::Document& document, const yaml::Entry& entry);
  void ReadRack(const yaml::Document& document, const yaml::Entry& entry);
  void ReadUplink(const yaml::Document& document, const yaml::Entry& entry, yaml::MapReader& reader,
                  Rack* rack);
  void ReadGroup(const yaml::Document& document, const yaml::Entry& entry);
  void ReadPartition(const yaml::Document& document, const yaml::Entry& entry);
  void ReadHealth(const yaml::Document& document, const yaml::Entry& entry) {
    health_.Read(document, entry);
  }
  void ReadUpdate(const yaml::Document& document, const yaml::Entry& entry);
  void ReadDrift(const yaml::Document& document, const yaml::Entry& entry);
  void ReadLimits(const yaml::Document& document, const yaml::Entry& entry, yaml::MapReader& reader,
                  UpdateSource& source);
  void ReadChannel(const yaml::Document& document, const yaml::Entry& entry);
  // `has_type`: the channel's type is known.
  void ReadChannelTexts(const yaml::Document& document, yaml::MapReader& reader, bool has_type,
                        NotificationChannel& channel);
  void ReadReceivers(const yaml::Document& document, yaml::MapReader& reader,
                     NotificationChannel& channel);
  // What its keys need of each other.
  void CheckChannel(const Origin& origin, const NotificationChannel& channel);
  void ReadSnapshot(const yaml::Document& document, const yaml::Entry& entry);
  void ReadVars(const yaml::Document& document, const yaml::Node& node, VariableLevel level,
                absl::string_view owner, std::vector<Variable>* out);
  // The text or list of texts under `key`, each with its place.
  std::vector<Reference> ReadReferences(const yaml::Document& document, yaml::MapReader& reader,
                                        absl::string_view key);
  // The same for a key whose absence stands for everything: an empty list that people hand in is an
  // error, since it would mean the opposite of what it says.
  std::vector<Reference> ReadRestriction(const yaml::Document& document, yaml::MapReader& reader,
                                         absl::string_view key);
  std::optional<Reference> ReadReference(const yaml::Document& document, yaml::MapReader& reader,
                                         absl::string_view key);
  // One address a node, or empty when none was written or an error was reported.
  std::vector<std::string> ZipAddresses(const std::optional<Reference>& written, size_t nodes);
  void ClaimAddress(const std::string& address, const std::string& node, const Origin& origin);
  // Whether these can be the addresses of the ports of so many nodes; reports why not.
  bool CheckMacs(const std::vector<Reference>& written, size_t nodes);
  // All of them where the entry has one node, otherwise the one at `index`.
  void SetMacs(const std::vector<Reference>& written, size_t index, size_t nodes, Node* node);

  void Resolve();
  void ReadVarsFiles();
  void ResolveNestedGroups();
  // Reports each cycle of groups once; returns whether there was none.
  bool CheckGroupCycles();
  // Groups before those nested in them, otherwise in the order written. Needs no cycles.
  std::vector<size_t> GeneralToSpecial() const;
  void ResolveGroupMembers();
  void ResolveRacks();
  void ResolvePartitions();
  void ResolveUpdates();
  void ResolveDrift();
  // The nodes that the references name, in inventory order, each once. nullopt: an error was
  // reported, that of a reference or what `problem_of` says of a node.
  std::optional<std::vector<const Node*>> SelectAll(
      const std::vector<Reference>& references,
      absl::FunctionRef<std::string(const Node&)> problem_of);
  // The nodes of role compute that the references name, in inventory order; "partition gpu" and
  // "jobs run on compute nodes only" tell about others. nullopt: an error was reported.
  std::optional<std::vector<const Node*>> ResolveWorkers(const std::vector<Reference>& references,
                                                         absl::string_view whose,
                                                         absl::string_view why);
  void CheckGroupVariables();
  std::vector<size_t> ResolveNodes(const Reference& reference);
  std::optional<size_t> ResolveGroup(const Reference& reference);
  // The place of something that was written, so that an error can show it.
  Origin OriginOf(const Place& place) const;

  const VariableCheck check_variable_;  // nullptr: the files are stored ones
  Errors errors_;
  HealthPolicyReader health_{errors_};
  std::deque<yaml::Document> documents_;  // a deque, because Origins point into it
  std::vector<VarsFile> vars_files_;
  Inventory inventory_;
  Origin cluster_origin_;
  Origin domain_origin_;
  std::vector<GroupSource> group_sources_;
  std::vector<ListSource> rack_sources_;
  std::vector<ListSource> partition_sources_;
  std::vector<UpdateSource> update_sources_;
  std::vector<DriftSource> drift_sources_;
  std::vector<NodeBlock> node_blocks_;
  absl::flat_hash_map<std::string, Reference> addresses_;  // address → the node that has it
  absl::flat_hash_map<std::string, Reference> macs_;       // the same
};

}  // namespace muster::controller
