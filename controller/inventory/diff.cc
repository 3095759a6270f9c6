#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/digest.h"
#include "common/base/text/hostlist.h"
#include "controller/inventory/drift_policy.h"
#include "controller/inventory/health_policy.h"
#include "controller/inventory/inventory.h"
#include "controller/inventory/notification_channel.h"
#include "controller/inventory/snapshot_source.h"
#include "controller/inventory/update_policy.h"

namespace muster::controller {
namespace {

using nlohmann::ordered_json;

constexpr char kUpdates[] = "updates";
constexpr char kDrift[] = "drift";
constexpr char kNotifications[] = "notifications";
constexpr char kHealth[] = "health";
constexpr char kSnapshots[] = "snapshots";

// Appends without looking for `key`, which ordered_json would do entry by entry.
void Append(ordered_json* object, const std::string& key, ordered_json value) {
  object->get_ref<ordered_json::object_t&>().Container::emplace_back(key, std::move(value));
}

void AppendUnlessEmpty(ordered_json* object, const std::string& key, const std::string& value) {
  if (!value.empty()) Append(object, key, value);
}

ordered_json VarsToValue(const std::vector<Variable>& vars) {
  ordered_json object = ordered_json::object();
  for (const Variable& variable : vars) Append(&object, variable.name, *variable.value);
  return object;
}

ordered_json NodeToValue(const Node& node) {
  ordered_json object = ordered_json::object();
  Append(&object, "role", std::string(NodeRoleName(node.role)));
  Append(&object, "address", node.address);
  AppendUnlessEmpty(&object, "bmc_address", node.bmc_address);
  if (node.macs.size() == 1) Append(&object, "mac", node.macs.front());
  if (node.macs.size() > 1) Append(&object, "mac", node.macs);
  AppendUnlessEmpty(&object, "rack", node.rack);
  Append(&object, "groups", node.groups);
  if (!node.vars.empty()) Append(&object, "vars", VarsToValue(node.vars));
  return object;
}

ordered_json RackToValue(const Rack& rack) {
  ordered_json object = ordered_json::object();
  if (rack.power_limit_watts > 0) Append(&object, "power_limit_watts", rack.power_limit_watts);
  AppendUnlessEmpty(&object, "switch", rack.switch_name);
  if (rack.uplink_gbits_per_s > 0) Append(&object, "uplink_gbits_per_s", rack.uplink_gbits_per_s);
  Append(&object, "nodes", FoldHostlist(rack.nodes));
  return object;
}

ordered_json GroupToValue(const Group& group) {
  ordered_json object = ordered_json::object();
  Append(&object, "nodes", FoldHostlist(group.nodes));
  if (!group.groups.empty()) Append(&object, "groups", group.groups);
  if (!group.vars.empty()) Append(&object, "vars", VarsToValue(group.vars));
  return object;
}

ordered_json PartitionToValue(const Partition& partition) {
  ordered_json object = ordered_json::object();
  Append(&object, "nodes", FoldHostlist(partition.nodes));
  Append(&object, "default", partition.is_default);
  AppendUnlessEmpty(&object, "max_time", partition.max_time);
  Append(&object, "state", std::string(PartitionStateName(partition.state)));
  return object;
}

using Entries = std::map<std::string, const ordered_json*>;

Entries EntriesOf(const ordered_json& object, const char* key) {
  Entries entries;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return entries;
  for (const auto& [name, value] : found->items()) entries.emplace(name, &value);
  return entries;
}

std::string Show(const ordered_json* value, bool quote) {
  if (value == nullptr || (!quote && *value == "")) return "(none)";
  if (value->is_string() && !quote) return value->get<std::string>();
  return value->dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// Calls emit(name, before, now) for every name with different values; absent is nullptr.
template <typename Emit>
void ForEachDifference(const Entries& before, const Entries& now, Emit emit) {
  std::set<std::string> names;
  for (const auto& [name, value] : before) names.insert(name);
  for (const auto& [name, value] : now) names.insert(name);
  const auto find = [](const Entries& entries, const std::string& name) {
    const auto found = entries.find(name);
    return found == entries.end() ? nullptr : found->second;
  };
  for (const std::string& name : names) {
    const ordered_json* old_value = find(before, name);
    const ordered_json* new_value = find(now, name);
    if (old_value != nullptr && new_value != nullptr && *old_value == *new_value) continue;
    emit(name, old_value, new_value);
  }
}

Entries FieldsOf(const ordered_json& object) {
  Entries fields;
  for (const auto& [name, value] : object.items()) {
    if (name != "vars") fields.emplace(name, &value);
  }
  return fields;
}

// "rack r1 -> r2, var driver 535 -> 550"
std::string DescribeChange(const ordered_json& before, const ordered_json& now) {
  std::vector<std::string> changes;
  ForEachDifference(
      FieldsOf(before), FieldsOf(now),
      [&](const std::string& name, const ordered_json* a, const ordered_json* b) {
        changes.push_back(absl::StrCat(name, " ", Show(a, false), " -> ", Show(b, false)));
      });
  ForEachDifference(
      EntriesOf(before, "vars"), EntriesOf(now, "vars"),
      [&](const std::string& name, const ordered_json* a, const ordered_json* b) {
        changes.push_back(absl::StrCat("var ", name, " ", Show(a, true), " -> ", Show(b, true)));
      });
  return absl::StrJoin(changes, ", ");
}

// ", var driver = 535", for a new entry.
void AppendVars(const ordered_json& value, std::string* text) {
  for (const auto& [name, variable] : EntriesOf(value, "vars")) {
    absl::StrAppend(text, text->empty() ? "" : ", ", "var ", name, " = ", Show(variable, true));
  }
}

// "nodes c[001-002], var driver = 535"; leaves out empty and false values.
std::string DescribeNew(const ordered_json& value) {
  std::string text;
  for (const auto& [name, field] : FieldsOf(value)) {
    if (*field == "" || *field == false) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, " ", Show(field, false));
  }
  AppendVars(value, &text);
  return text;
}

// "c001" is one node, "c[001-003]" are several: the text that they share appears once.
void EmitNodes(absl::string_view sign,
               const std::map<std::string, std::vector<std::string>>& by_text,
               std::vector<std::string>* lines) {
  for (const auto& [text, names] : by_text) {
    lines->push_back(absl::StrCat(sign, names.size() == 1 ? " node " : " nodes ",
                                  FoldHostlist(names), text.empty() ? "" : ": ", text));
  }
}

void DiffNodes(const ordered_json& before, const ordered_json& now,
               std::vector<std::string>* lines) {
  std::map<std::string, std::vector<std::string>> added, removed, changed;
  ForEachDifference(EntriesOf(before, "nodes"), EntriesOf(now, "nodes"),
                    [&](const std::string& name, const ordered_json* a, const ordered_json* b) {
                      if (a == nullptr) {
                        std::string text = Show(&b->at("role"), false);
                        AppendVars(*b, &text);
                        added[text].push_back(name);
                      } else if (b == nullptr) {
                        removed[Show(&a->at("role"), false)].push_back(name);
                      } else if (std::string change = DescribeChange(*a, *b); !change.empty()) {
                        changed[change].push_back(name);
                      }
                    });
  EmitNodes("+", added, lines);
  EmitNodes("-", removed, lines);
  EmitNodes("~", changed, lines);
}

void DiffSection(const ordered_json& before, const ordered_json& now, const char* section,
                 absl::string_view word, std::vector<std::string>* lines) {
  ForEachDifference(
      EntriesOf(before, section), EntriesOf(now, section),
      [&](const std::string& name, const ordered_json* a, const ordered_json* b) {
        if (a == nullptr) {
          const std::string text = DescribeNew(*b);
          lines->push_back(absl::StrCat("+ ", word, " ", name, text.empty() ? "" : ": ", text));
        } else if (b == nullptr) {
          lines->push_back(absl::StrCat("- ", word, " ", name));
        } else if (std::string change = DescribeChange(*a, *b); !change.empty()) {
          lines->push_back(absl::StrCat("~ ", word, " ", name, ": ", change));
        }
      });
}

}  // namespace

ordered_json ToValue(const Inventory& inventory) {
  ordered_json value = ordered_json::object();
  Append(&value, "cluster", inventory.cluster());
  AppendUnlessEmpty(&value, "domain", inventory.domain());
  const auto section = [&value](const char* key, const auto& list, auto convert) {
    ordered_json object = ordered_json::object();
    for (const auto& element : list) Append(&object, element.name, convert(element));
    Append(&value, key, std::move(object));
  };
  section("nodes", inventory.nodes(), NodeToValue);
  section("racks", inventory.racks(), RackToValue);
  std::vector<Group> groups;  // an implicit group appears only with its variables
  for (const Group& group : inventory.groups()) {
    if (!group.implicit || !group.vars.empty()) groups.push_back(group);
  }
  section("groups", groups, GroupToValue);
  section("partitions", inventory.partitions(), PartitionToValue);
  ordered_json updates = ordered_json::object();
  for (const auto& policy : inventory.updates()) Append(&updates, policy->name, ToValue(*policy));
  Append(&value, kUpdates, std::move(updates));
  ordered_json drift = ordered_json::object();
  for (const auto& policy : inventory.drift()) Append(&drift, policy->name, ToValue(*policy));
  Append(&value, kDrift, std::move(drift));
  ordered_json channels = ordered_json::object();
  for (const auto& channel : inventory.channels())
    Append(&channels, channel->name, ToValue(*channel));
  Append(&value, kNotifications, std::move(channels));
  if (!inventory.snapshots().empty()) {
    ordered_json snapshots = ordered_json::object();
    for (const auto& source : inventory.snapshots())
      Append(&snapshots, source->name, ToValue(*source));
    Append(&value, kSnapshots, std::move(snapshots));
  }
  if (!inventory.health().written().empty()) Append(&value, kHealth, inventory.health().written());
  Append(&value, "vars", VarsToValue(inventory.vars()));
  return value;
}

std::string ContentDigest(const Inventory& inventory) {
  ordered_json value = ToValue(inventory);
  value.erase(kUpdates);
  value.erase(kDrift);
  value.erase(kNotifications);
  value.erase(kHealth);
  value.erase(kSnapshots);
  return Sha256Hex(value.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

std::vector<std::string> DiffInventory(const Inventory& before, const Inventory& now) {
  const ordered_json a = ToValue(before);
  const ordered_json b = ToValue(now);
  std::vector<std::string> lines;
  for (const char* key : {"cluster", "domain"}) {
    const ordered_json* old_value = a.contains(key) ? &a.at(key) : nullptr;
    const ordered_json* new_value = b.contains(key) ? &b.at(key) : nullptr;
    if (Show(old_value, false) == Show(new_value, false)) continue;
    lines.push_back(
        absl::StrCat("~ ", key, ": ", Show(old_value, false), " -> ", Show(new_value, false)));
  }
  DiffNodes(a, b, &lines);
  DiffSection(a, b, "racks", "rack", &lines);
  DiffSection(a, b, "groups", "group", &lines);
  DiffSection(a, b, "partitions", "partition", &lines);
  DiffSection(a, b, kUpdates, "update policy", &lines);
  DiffSection(a, b, kDrift, "drift policy", &lines);
  DiffSection(a, b, kNotifications, "notification channel", &lines);
  DiffSection(a, b, kSnapshots, "snapshot repository", &lines);
  DiffSection(a, b, kHealth, "health policy of", &lines);
  ForEachDifference(
      EntriesOf(a, "vars"), EntriesOf(b, "vars"),
      [&](const std::string& name, const ordered_json* x, const ordered_json* y) {
        lines.push_back(x == nullptr   ? absl::StrCat("+ var ", name, " = ", Show(y, true))
                        : y == nullptr ? absl::StrCat("- var ", name)
                                       : absl::StrCat("~ var ", name, ": ", Show(x, true), " -> ",
                                                      Show(y, true)));
      });
  return lines;
}

}  // namespace muster::controller
