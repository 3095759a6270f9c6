#include "controller/inventory/builder.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text/hostlist.h"
#include "common/yaml/value.h"
#include "controller/inventory/bmc_access.h"
#include "controller/inventory/boot_choice.h"
#include "controller/inventory/names.h"
#include "controller/inventory/self_join.h"
#include "controller/inventory/words.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxNodes = 65536;

constexpr Word<NodeRole> kRoles[] = {
    {"login", NodeRole::kLogin}, {"compute", NodeRole::kCompute}, {"storage", NodeRole::kStorage}};

constexpr Word<PartitionState> kStates[] = {{"UP", PartitionState::kUp},
                                            {"DOWN", PartitionState::kDown},
                                            {"DRAIN", PartitionState::kDrain},
                                            {"INACTIVE", PartitionState::kInactive}};

struct VarsPath {
  bool of_group;
  std::string owner;
};

// "…/group_vars/gpu.yaml" → {true, "gpu"}.
std::optional<VarsPath> ParseVarsPath(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  if (parts.size() < 2) return std::nullopt;
  const absl::string_view folder = parts[parts.size() - 2];
  if (folder != "group_vars" && folder != "node_vars") return std::nullopt;
  const absl::string_view file = parts.back();
  return VarsPath{folder == "group_vars", std::string(file.substr(0, file.rfind('.')))};
}

bool MayHoldTemplate(const yaml::Node& node) {
  return absl::StrContains(node.text(), '{') ||
         std::any_of(node.items().begin(), node.items().end(), MayHoldTemplate) ||
         std::any_of(node.entries().begin(), node.entries().end(),
                     [](const yaml::Entry& entry) { return MayHoldTemplate(entry.value); });
}

}  // namespace

absl::StatusOr<Inventory> ParseInventory(const std::map<std::string, std::string>& files,
                                         VariableCheck check_variable) {
  return InventoryBuilder(check_variable).Build(files);
}

InventoryBuilder::InventoryBuilder(VariableCheck check_variable) : check_variable_(check_variable) {
  for (const char* name : {"all", "login", "compute", "storage"}) {
    inventory_.group_index_.emplace(name, inventory_.groups_.size());
    Group& group = inventory_.groups_.emplace_back();
    group.name = name;
    group.implicit = true;
    group_sources_.emplace_back();
  }
}

absl::StatusOr<Inventory> InventoryBuilder::Build(const std::map<std::string, std::string>& files) {
  if (files.empty()) return absl::InvalidArgumentError("the inventory has no files");
  for (const auto& [path, content] : files) {
    absl::StatusOr<yaml::Document> document = yaml::Document::Parse(path, content);
    if (!errors_.Add(document.status())) continue;
    documents_.push_back(*std::move(document));
    if (std::optional<VarsPath> vars = ParseVarsPath(path)) {
      vars_files_.push_back({&documents_.back(), std::move(vars->owner), vars->of_group});
    } else {
      ReadSections(documents_.back());
    }
  }
  // References into a file that could not be read would all be reported as unknown.
  if (documents_.size() < files.size()) return errors_.ToStatus();
  if (cluster_origin_.document == nullptr) {
    errors_.Add(Origin{&documents_.front(), {1, 1}},
                "the inventory lacks 'cluster', the name of the cluster");
  }
  Resolve();
  if (!errors_.empty()) return errors_.ToStatus();
  return std::move(inventory_);
}

void InventoryBuilder::ReadSections(const yaml::Document& document) {
  if (document.root().IsNull()) return;
  yaml::MapReader reader(document, document.root(), "inventory");
  for (const char* key : {"cluster", "domain", "racks", "groups", "nodes", "partitions", "updates",
                          "drift", "notifications", "health", "snapshots", "vars"}) {
    reader.Allow(key);
  }
  errors_.Add(reader.Finish());

  for (const char* key : {"cluster", "domain"}) {
    const yaml::Entry* entry = document.root().FindEntry(key);
    if (entry == nullptr) continue;
    const bool is_cluster = entry->key == "cluster";
    ReadOnce(document, *entry, is_cluster ? &cluster_origin_ : &domain_origin_,
             is_cluster ? &inventory_.cluster_ : &inventory_.domain_);
  }
  struct Section {
    const char* key;
    void (InventoryBuilder::*read)(const yaml::Document&, const yaml::Entry&);
  };
  const Section sections[] = {{"nodes", &InventoryBuilder::ReadNodes},
                              {"racks", &InventoryBuilder::ReadRack},
                              {"groups", &InventoryBuilder::ReadGroup},
                              {"partitions", &InventoryBuilder::ReadPartition},
                              {"updates", &InventoryBuilder::ReadUpdate},
                              {"drift", &InventoryBuilder::ReadDrift},
                              {"notifications", &InventoryBuilder::ReadChannel},
                              {"health", &InventoryBuilder::ReadHealth},
                              {"snapshots", &InventoryBuilder::ReadSnapshot}};
  for (const Section& section : sections) {
    const yaml::Node* node = document.root().Find(section.key);
    if (node == nullptr || node->IsNull()) continue;
    if (!node->IsMap()) {
      errors_.Add(Origin{&document, node->mark()},
                  absl::StrCat("'", section.key, "' must be a map of names, not ",
                               yaml::KindName(node->kind())));
      continue;
    }
    for (const yaml::Entry& entry : node->entries()) (this->*section.read)(document, entry);
  }
  if (const yaml::Node* vars = document.root().Find("vars")) {
    ReadVars(document, *vars, VariableLevel::kInventory, "", &inventory_.vars_);
  }
}

void InventoryBuilder::ReadOnce(const yaml::Document& document, const yaml::Entry& entry,
                                Origin* first, std::string* out) {
  const Origin origin{&document, entry.key_mark};
  if (first->document != nullptr) {
    errors_.Add(origin, absl::StrCat("duplicate '", entry.key, "', first in ",
                                     first->ToPlace().ToString()));
    return;
  }
  *first = origin;
  if (!errors_.Add(yaml::Read(document, entry.value, out))) return;
  errors_.Check(Origin{&document, entry.value.mark()},
                entry.key == "cluster" ? CheckDnsLabel("cluster", *out) : CheckDomain(*out));
}

void InventoryBuilder::ReadNodes(const yaml::Document& document, const yaml::Entry& entry) {
  const Origin origin{&document, entry.key_mark};
  yaml::MapReader reader(document, entry.value, "node");
  Node common;
  common.place = origin.ToPlace();
  std::string role;
  if (errors_.Add(reader.Required("role", &role))) {
    errors_.Check(Origin{&document, entry.value.Find("role")->mark()},
                  ParseWord(kRoles, "role", role, &common.role));
  }
  const std::optional<Reference> address = ReadReference(document, reader, "address");
  const std::optional<Reference> bmc = ReadReference(document, reader, "bmc_address");
  const std::vector<Reference> macs = ReadReferences(document, reader, "mac");
  NodeBlock block;
  block.rack = ReadReference(document, reader, "rack");
  block.groups = ReadReferences(document, reader, "groups");
  const yaml::Node* vars = reader.Take("vars");
  if (entry.value.IsMap()) errors_.Add(reader.Finish());

  const absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(entry.key);
  if (!names.ok()) {
    errors_.AddHostlist(origin, names.status());
    return;
  }
  if (inventory_.nodes_.size() + names->size() > kMaxNodes) {
    errors_.Add(origin, absl::StrCat("more than ", kMaxNodes, " nodes"));
    return;
  }
  const bool has_macs = CheckMacs(macs, names->size());
  const std::vector<std::string> addresses = ZipAddresses(address, names->size());
  const std::vector<std::string> bmcs = ZipAddresses(bmc, names->size());
  std::vector<Variable> common_vars;
  if (vars != nullptr) ReadVars(document, *vars, VariableLevel::kNode, "", &common_vars);

  std::vector<std::string> duplicates;
  for (size_t i = 0; i < names->size(); ++i) {
    const std::string& name = (*names)[i];
    if (!errors_.Check(origin, CheckDnsLabel("node", name))) return;
    const auto [at, is_new] = inventory_.node_index_.emplace(name, inventory_.nodes_.size());
    if (!is_new) {
      duplicates.push_back(name);
      continue;
    }
    block.nodes.push_back(at->second);
    Node& node = inventory_.nodes_.emplace_back(common);
    node.name = name;
    node.vars = common_vars;
    for (Variable& variable : node.vars) variable.owner = name;
    node.address = addresses.empty() ? name : addresses[i];
    ClaimAddress(node.address, name, addresses.empty() ? origin : address->origin);
    if (has_macs) SetMacs(macs, i, names->size(), &node);
    if (bmcs.empty()) continue;
    node.bmc_address = bmcs[i];
    ClaimAddress(node.bmc_address, name, bmc->origin);
  }
  if (!duplicates.empty()) {
    const Node* first = inventory_.FindNode(duplicates.front());
    errors_.Add(origin, absl::StrCat("duplicate node ", FoldHostlist(duplicates), ", first in ",
                                     first->place.ToString()));
  }
  node_blocks_.push_back(std::move(block));
}

std::vector<std::string> InventoryBuilder::ZipAddresses(const std::optional<Reference>& written,
                                                        size_t nodes) {
  if (!written.has_value()) return {};
  std::vector<std::string> addresses = {written->text};
  if (!absl::StrContains(written->text, ':')) {  // only IPv6 has one; a host list cannot
    absl::StatusOr<std::vector<std::string>> expanded = ExpandHostlist(written->text);
    if (!expanded.ok()) {
      errors_.AddHostlist(written->origin, expanded.status());
      return {};
    }
    addresses = *std::move(expanded);
  }
  if (addresses.size() != nodes) {
    errors_.Add(written->origin,
                absl::StrCat(
                    addresses.size(), " addresses for ", nodes, " nodes",
                    nodes > 1 ? ": write a range of the same length, such as 10.0.0.[11-16]" : ""));
    return {};
  }
  for (const std::string& address : addresses) {
    if (!errors_.Check(written->origin, CheckAddress(address))) return {};
  }
  return addresses;
}

void InventoryBuilder::ClaimAddress(const std::string& address, const std::string& node,
                                    const Origin& origin) {
  const auto [at, is_new] = addresses_.try_emplace(address, Reference{node, origin});
  if (is_new) return;
  errors_.Add(origin,
              absl::StrCat("address ", address, " of node ", node, " already belongs to ",
                           at->second.text, " (", at->second.origin.ToPlace().ToString(), ")"));
}

bool InventoryBuilder::CheckMacs(const std::vector<Reference>& written, size_t nodes) {
  for (const Reference& mac : written) {
    if (!errors_.Check(mac.origin, CheckMac(mac.text))) return false;
  }
  if (written.empty() || nodes == 1 || written.size() == nodes) return true;
  errors_.Add(written.front().origin,
              absl::StrCat(written.size() == 1 ? "one MAC address"
                                               : absl::StrCat(written.size(), " MAC addresses"),
                           " for ", nodes, " nodes: write a list with one for each"));
  return false;
}

void InventoryBuilder::SetMacs(const std::vector<Reference>& written, size_t index, size_t nodes,
                               Node* node) {
  const size_t first = nodes > 1 ? index : 0;
  const size_t end = nodes > 1 ? index + 1 : written.size();
  for (size_t i = first; i < std::min(end, written.size()); ++i) {
    std::string mac = absl::AsciiStrToLower(written[i].text);
    const auto [at, is_new] = macs_.try_emplace(mac, Reference{node->name, written[i].origin});
    if (!is_new) {
      errors_.Add(written[i].origin,
                  absl::StrCat("MAC address ", mac, " of node ", node->name, " already belongs to ",
                               at->second.text, " (", at->second.origin.ToPlace().ToString(), ")"));
      continue;
    }
    inventory_.mac_index_[mac] = inventory_.node_index_.at(node->name);
    node->macs.push_back(std::move(mac));
  }
}

void InventoryBuilder::ReadRack(const yaml::Document& document, const yaml::Entry& entry) {
  const Origin origin{&document, entry.key_mark};
  yaml::MapReader reader(document, entry.value, "rack");
  Rack rack;
  rack.name = entry.key;
  rack.place = origin.ToPlace();
  if (errors_.Add(reader.Optional("power_limit_watts", &rack.power_limit_watts)) &&
      entry.value.Find("power_limit_watts") != nullptr && rack.power_limit_watts <= 0) {
    errors_.Add(Origin{&document, entry.value.Find("power_limit_watts")->mark()},
                "a power limit must be more than 0 W");
  }
  if (const std::optional<Reference> name = ReadReference(document, reader, "switch")) {
    errors_.Check(name->origin, CheckName("switch", name->text));
    rack.switch_name = name->text;
  }
  ReadUplink(document, entry, reader, &rack);
  ListSource source{origin, ReadReferences(document, reader, "nodes")};
  errors_.Add(reader.Finish());
  if (!errors_.Check(origin, CheckName("rack", rack.name))) return;
  if (const Rack* first = inventory_.FindRack(rack.name)) {
    errors_.Add(origin,
                absl::StrCat("duplicate rack ", rack.name, ", first in ", first->place.ToString()));
    return;
  }
  inventory_.racks_.push_back(std::move(rack));
  rack_sources_.push_back(std::move(source));
}

void InventoryBuilder::ReadUplink(const yaml::Document& document, const yaml::Entry& entry,
                                  yaml::MapReader& reader, Rack* rack) {
  constexpr char kKey[] = "uplink_gbits_per_s";
  const yaml::Node* const written = entry.value.Find(kKey);
  if (!errors_.Add(reader.Optional(kKey, &rack->uplink_gbits_per_s)) || written == nullptr) return;
  const Origin origin{&document, written->mark()};
  const double capacity = rack->uplink_gbits_per_s;
  if (!(capacity > 0) || !std::isfinite(capacity)) {
    errors_.Add(origin, "an uplink must carry more than 0 Gbit/s");
  } else if (rack->switch_name.empty()) {
    errors_.Add(origin, "an uplink needs the 'switch' that it belongs to");
  }
  for (const Rack& other : inventory_.racks_) {
    if (other.switch_name != rack->switch_name || other.uplink_gbits_per_s <= 0 ||
        other.uplink_gbits_per_s == capacity) {
      continue;
    }
    errors_.Add(origin, absl::StrCat("the uplink of switch ", rack->switch_name, " carries ",
                                     other.uplink_gbits_per_s, " Gbit/s by rack ", other.name, " (",
                                     other.place.ToString(), ")"));
  }
}

void InventoryBuilder::ReadGroup(const yaml::Document& document, const yaml::Entry& entry) {
  const Origin origin{&document, entry.key_mark};
  yaml::MapReader reader(document, entry.value, "group");
  GroupSource source{origin,
                     ReadReferences(document, reader, "nodes"),
                     ReadReferences(document, reader, "groups"),
                     {}};
  const yaml::Node* vars = reader.Take("vars");
  errors_.Add(reader.Finish());
  if (!errors_.Check(origin, CheckName("group", entry.key))) return;

  const auto [at, is_new] = inventory_.group_index_.emplace(entry.key, inventory_.groups_.size());
  if (is_new) {
    inventory_.groups_.emplace_back().name = entry.key;
    group_sources_.emplace_back();
  }
  Group& group = inventory_.groups_[at->second];
  if (group.place.line != 0) {
    errors_.Add(origin, absl::StrCat("duplicate group ", group.name, ", first in ",
                                     group.place.ToString()));
    return;
  }
  group.place = origin.ToPlace();
  if (group.implicit && (!source.nodes.empty() || !source.groups.empty())) {
    errors_.Add(origin, absl::StrCat("'", group.name, "' is implicit, ",
                                     group.name == "all" ? "the group of all nodes"
                                                         : "the group of all nodes of that role",
                                     ": it can have vars, but no nodes or groups of its own"));
    return;
  }
  if (vars != nullptr) ReadVars(document, *vars, VariableLevel::kGroup, group.name, &group.vars);
  group_sources_[at->second] = std::move(source);
}

void InventoryBuilder::ReadPartition(const yaml::Document& document, const yaml::Entry& entry) {
  const Origin origin{&document, entry.key_mark};
  yaml::MapReader reader(document, entry.value, "partition");
  Partition partition;
  partition.name = entry.key;
  partition.place = origin.ToPlace();
  errors_.Add(reader.Optional("default", &partition.is_default));
  if (const std::optional<Reference> time = ReadReference(document, reader, "max_time")) {
    errors_.Check(time->origin, CheckSlurmTime(time->text));
    partition.max_time = time->text;
  }
  if (const std::optional<Reference> state = ReadReference(document, reader, "state")) {
    errors_.Check(state->origin,
                  ParseWord(kStates, "partition state", state->text, &partition.state));
  }
  ListSource source{origin, ReadReferences(document, reader, "nodes")};
  errors_.Add(reader.Finish());
  if (!errors_.Check(origin, CheckName("partition", partition.name))) return;
  if (absl::EqualsIgnoreCase(partition.name, "default")) {
    errors_.Add(origin, "'default' cannot be the name of a partition: Slurm keeps it for itself");
    return;
  }
  if (const Partition* first = inventory_.FindPartition(partition.name)) {
    errors_.Add(origin, absl::StrCat("duplicate partition ", partition.name, ", first in ",
                                     first->place.ToString()));
    return;
  }
  inventory_.partitions_.push_back(std::move(partition));
  partition_sources_.push_back(std::move(source));
}

void InventoryBuilder::ReadVars(const yaml::Document& document, const yaml::Node& node,
                                VariableLevel level, absl::string_view owner,
                                std::vector<Variable>* out) {
  if (node.IsNull()) return;
  if (!node.IsMap()) {
    errors_.Add(
        Origin{&document, node.mark()},
        absl::StrCat("variables must be a map of names, not ", yaml::KindName(node.kind())));
    return;
  }
  absl::flat_hash_map<std::string, std::string> known;
  for (const Variable& variable : *out) known.emplace(variable.name, variable.place.ToString());
  for (const yaml::Entry& entry : node.entries()) {
    const Origin origin{&document, entry.key_mark};
    if (!errors_.Check(origin, CheckVariableName(entry.key))) continue;
    if (check_variable_ != nullptr && !errors_.Check(origin, check_variable_(entry.key))) continue;
    const auto first = known.find(entry.key);
    if (first != known.end()) {
      errors_.Add(origin,
                  absl::StrCat("duplicate variable '", entry.key, "'", owner.empty() ? "" : " of ",
                               owner, ", first in ", first->second));
      continue;
    }
    auto value = std::make_shared<const nlohmann::ordered_json>(yaml::ToValue(entry.value));
    errors_.Check(Origin{&document, entry.value.mark()}, CheckBmcVariable(entry.key, *value));
    errors_.Check(Origin{&document, entry.value.mark()}, CheckBootVariable(entry.key, *value));
    errors_.Check(Origin{&document, entry.value.mark()}, CheckSelfJoinVariable(entry.key, *value));
    if (level != VariableLevel::kInventory) errors_.Check(origin, CheckVariableOfNodes(entry.key));
    Variable& variable = out->emplace_back();
    variable.name = entry.key;
    variable.value = std::move(value);
    variable.level = level;
    variable.owner = std::string(owner);
    variable.place = origin.ToPlace();
    if (MayHoldTemplate(entry.value)) variable.written = document.At(entry.value);
  }
}

std::vector<Reference> InventoryBuilder::ReadReferences(const yaml::Document& document,
                                                        yaml::MapReader& reader,
                                                        absl::string_view key) {
  const yaml::Node* node = reader.Take(key);
  if (node == nullptr) return {};
  std::vector<std::string> texts;
  if (!errors_.Add(yaml::Read(document, *node, &texts))) return {};
  std::vector<Reference> references;
  for (size_t i = 0; i < texts.size(); ++i) {
    const yaml::Node& place = node->IsSequence() ? node->items()[i] : *node;
    references.push_back({std::move(texts[i]), Origin{&document, place.mark()}});
  }
  return references;
}

std::vector<Reference> InventoryBuilder::ReadRestriction(const yaml::Document& document,
                                                         yaml::MapReader& reader,
                                                         absl::string_view key) {
  const yaml::Node* node = reader.Take(key);
  if (node == nullptr) return {};
  const bool is_empty = node->IsNull() || (node->IsSequence() && node->items().empty());
  if (is_empty && check_variable_ != nullptr) {
    errors_.Add(reader.Empty(key, *node));
    return {};
  }
  return ReadReferences(document, reader, key);
}

std::optional<Reference> InventoryBuilder::ReadReference(const yaml::Document& document,
                                                         yaml::MapReader& reader,
                                                         absl::string_view key) {
  std::string text;
  if (!errors_.Add(reader.Optional(key, &text))) return std::nullopt;
  const yaml::Node* node = reader.Take(key);
  if (node == nullptr) return std::nullopt;
  return Reference{std::move(text), Origin{&document, node->mark()}};
}

}  // namespace muster::controller
