#include "cli/inventory_edit/inventory_texts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {
namespace {

using Files = std::map<std::string, std::string>;

bool HasSections(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  const absl::string_view folder = parts.size() < 2 ? "" : parts[parts.size() - 2];
  return folder != "group_vars" && folder != "node_vars";
}

}  // namespace

absl::StatusOr<InventoryTexts> ParseSections(const Files& files) {
  InventoryTexts texts;
  for (const auto& [path, text] : files) {
    if (!HasSections(path)) continue;
    ASSIGN_OR_RETURN(YamlText parsed, YamlText::Parse(path, text));
    texts.push_back(std::move(parsed));
  }
  return texts;
}

yaml::Node SectionOf(const YamlText& text, absl::string_view name) {
  const yaml::Node* section = text.document().root().Find(name);
  return section == nullptr ? yaml::Node() : *section;
}

std::string PlaceOf(const YamlText& text, yaml::Mark mark) {
  return absl::StrCat(text.document().file_name(), ":", mark.line);
}

std::optional<NodeDefinition> FindNode(InventoryTexts& texts, absl::string_view name) {
  for (YamlText& text : texts) {
    const yaml::Node section = SectionOf(text, "nodes");
    for (const yaml::Entry& entry : section.entries()) {
      absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(entry.key);
      if (names.ok() && std::find(names->begin(), names->end(), name) != names->end())
        return NodeDefinition{&text, section, entry, *std::move(names)};
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<std::string>> NodesOf(const Files& files) {
  ASSIGN_OR_RETURN(const InventoryTexts texts, ParseSections(files));
  std::vector<std::string> nodes;
  for (const YamlText& text : texts) {
    const yaml::Node section = SectionOf(text, "nodes");
    for (const yaml::Entry& entry : section.entries()) {
      const absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(entry.key);
      if (!names.ok()) return text.document().Error(entry.key_mark, names.status().message());
      nodes.insert(nodes.end(), names->begin(), names->end());
    }
  }
  return nodes;
}

absl::StatusOr<Files> ChangedTexts(const InventoryTexts& texts, absl::string_view act) {
  Files changed;
  for (const YamlText& text : texts) {
    if (!text.is_changed()) continue;
    const std::string& path = text.document().file_name();
    std::string edited = text.Edited();
    const absl::StatusOr<yaml::Document> read = yaml::Document::Parse(path, edited);
    if (!read.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is written in a way that is not changed automatically; ", act,
                       " by hand. The attempt: ", read.status().message()));
    changed[path] = std::move(edited);
  }
  return changed;
}

}  // namespace muster::cli
