// The files of an inventory that have sections, as texts to edit, and the places of nodes in them.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/inventory_edit/yaml_text.h"

namespace muster::cli {

using InventoryTexts = std::vector<YamlText>;

// Files of variables have no sections and are left out. Files that cannot be parsed are errors with
// their place.
absl::StatusOr<InventoryTexts> ParseSections(const std::map<std::string, std::string>& files);

// The section's value, null where the file has none. A copy, because it is cheap and an edit does
// not disturb it.
yaml::Node SectionOf(const YamlText& text, absl::string_view name);

// "inventory/cluster.yaml:7".
std::string PlaceOf(const YamlText& text, yaml::Mark mark);

// The entry of `nodes` that defines a node.
struct NodeDefinition {
  YamlText* text = nullptr;
  yaml::Node section;
  yaml::Entry entry;
  std::vector<std::string> names;
};
std::optional<NodeDefinition> FindNode(InventoryTexts& texts, absl::string_view name);

// The names of the nodes that the files define, in their order; errors as of ParseSections().
absl::StatusOr<std::vector<std::string>> NodesOf(const std::map<std::string, std::string>& files);

// The new texts of the files that change. InvalidArgument: one of them is no YAML any more; `act`
// is what to do by hand then: "add c017".
absl::StatusOr<std::map<std::string, std::string>> ChangedTexts(const InventoryTexts& texts,
                                                                absl::string_view act);

}  // namespace muster::cli
