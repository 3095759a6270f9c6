#include "controller/inventory/drift_policy.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/text/hostlist.h"
#include "controller/inventory/builder.h"
#include "controller/inventory/names.h"

namespace muster::controller {

void InventoryBuilder::ReadDrift(const yaml::Document& document, const yaml::Entry& entry) {
  const Origin origin{&document, entry.key_mark};
  yaml::MapReader reader(document, entry.value, "drift policy");
  DriftSource source;
  source.origin = origin;
  source.policy = std::make_shared<DriftPolicy>();
  DriftPolicy& policy = *source.policy;
  policy.name = entry.key;
  policy.place = origin.ToPlace();
  const auto place_of = [&](absl::string_view key) {
    return Origin{&document, entry.value.Find(key)->mark()};
  };
  if (errors_.Add(reader.Required("playbook", &policy.playbook)))
    errors_.Check(place_of("playbook"), CheckPlaybookPath(policy.playbook));
  source.nodes = ReadRestriction(document, reader, "nodes");
  if (errors_.Add(reader.Optional("every", &policy.every)) &&
      policy.every < DriftPolicy::kLeastInterval) {
    errors_.Add(place_of("every"),
                absl::StrCat("every must be ", absl::FormatDuration(DriftPolicy::kLeastInterval),
                             " or more, such as 24h"));
  }
  errors_.Add(reader.Optional("repair", &policy.repairs));
  if (entry.value.IsMap()) errors_.Add(reader.Finish());
  if (!errors_.Check(origin, CheckName("drift policy", policy.name))) return;
  for (const auto& other : inventory_.drift_) {
    if (other->name != policy.name) continue;
    errors_.Add(origin, absl::StrCat("duplicate drift policy ", policy.name, ", first in ",
                                     other->place.ToString()));
    return;
  }
  inventory_.drift_.push_back(source.policy);
  drift_sources_.push_back(std::move(source));
}

void InventoryBuilder::ResolveDrift() {
  for (DriftSource& source : drift_sources_) {
    DriftPolicy& policy = *source.policy;
    if (source.nodes.empty()) source.nodes.push_back({"all", source.origin});
    const std::optional<std::vector<const Node*>> nodes =
        SelectAll(source.nodes, [](const Node&) { return std::string(); });
    if (!nodes.has_value()) continue;
    for (const Node* node : *nodes) policy.nodes.push_back(node->name);
    if (policy.nodes.empty())
      errors_.Add(source.origin, absl::StrCat("drift policy ", policy.name,
                                              " has no nodes: set 'nodes', or add nodes"));
  }
}

nlohmann::ordered_json ToValue(const DriftPolicy& policy) {
  nlohmann::ordered_json value = {{"playbook", policy.playbook},
                                  {"nodes", FoldHostlist(policy.nodes)},
                                  {"every", absl::FormatDuration(policy.every)}};
  if (policy.repairs) value["repair"] = true;
  return value;
}

}  // namespace muster::controller
