#include "cli/inventory_edit/remove_nodes.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/inventory_edit/inventory_changes.h"
#include "cli/inventory_edit/inventory_texts.h"
#include "cli/inventory_edit/narrow_hostlist.h"
#include "cli/inventory_edit/widen_hostlist.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {
namespace {

using Files = std::map<std::string, std::string>;
using Names = std::set<std::string>;

std::set<size_t> PlacesOf(const std::vector<std::string>& list, const Names& names) {
  std::set<size_t> places;
  for (size_t i = 0; i < list.size(); ++i)
    if (names.count(list[i]) > 0) places.insert(i);
  return places;
}

// A host list, or a pattern, without the names: terms that are groups or globs follow by
// themselves.
// "" when no term is left.
absl::StatusOr<std::string> NarrowPattern(absl::string_view pattern, const Names& names) {
  std::vector<std::string> terms;
  for (const absl::string_view term : SplitItems(pattern)) {
    absl::string_view list = absl::StripAsciiWhitespace(term);
    absl::ConsumePrefix(&list, "!");
    const absl::StatusOr<std::vector<std::string>> expanded = ExpandHostlist(list);
    const std::set<size_t> places = expanded.ok() ? PlacesOf(*expanded, names) : std::set<size_t>();
    if (places.empty()) {
      terms.emplace_back(term);
      continue;
    }
    ASSIGN_OR_RETURN(const std::string narrow, NarrowHostlist(list, places));
    if (narrow.empty()) continue;
    terms.emplace_back(term);
    terms.back().replace(static_cast<size_t>(list.data() - term.data()), list.size(), narrow);
  }
  return absl::StrJoin(terms, ",");
}

// "update policy"
absl::string_view WordOf(absl::string_view section) {
  for (const ListKind& kind : kListKinds) {
    if (section == kind.section) return kind.word;
  }
  return section;
}

// Edits the files for one removal.
class Removing {
 public:
  Removing(InventoryTexts& texts, const std::vector<std::string>& names)
      : texts_(texts), names_(names.begin(), names.end()) {}

  absl::Status Run() {
    RETURN_IF_ERROR(Undefine());
    for (const char* section : {"groups", "racks", "partitions", "updates", "drift"})
      RETURN_IF_ERROR(Leave(section));
    return absl::OkStatus();
  }

 private:
  absl::Status Undefine() {
    for (YamlText& text : texts_) {
      const yaml::Node section = SectionOf(text, "nodes");
      for (const yaml::Entry& entry : section.entries()) {
        const absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(entry.key);
        if (!names.ok()) return text.document().Error(entry.key_mark, names.status().message());
        const std::set<size_t> places = PlacesOf(*names, names_);
        if (places.empty()) continue;
        if (places.size() == names->size()) {
          RETURN_IF_ERROR(text.RemoveEntry(section, entry));
          continue;
        }
        RETURN_IF_ERROR(NarrowEntry(text, entry, places));
      }
    }
    return absl::OkStatus();
  }

  static absl::Status NarrowEntry(YamlText& text, const yaml::Entry& entry,
                                  const std::set<size_t>& places) {
    const absl::StatusOr<std::string> key = NarrowHostlist(entry.key, places);
    if (!key.ok()) return text.document().Error(entry.key_mark, key.status().message());
    RETURN_IF_ERROR(text.ReplaceKey(entry, *key));
    for (const char* name : {"address", "bmc_address"}) {
      const yaml::Node* value = entry.value.Find(name);
      if (value == nullptr) continue;
      const absl::StatusOr<std::string> narrow = NarrowHostlist(value->text(), places);
      if (!narrow.ok()) return text.document().Error(*value, narrow.status().message());
      RETURN_IF_ERROR(text.Replace(*value, *narrow));
    }
    return absl::OkStatus();
  }

  absl::Status Leave(absl::string_view section) {
    for (YamlText& text : texts_) {
      const yaml::Node entries = SectionOf(text, section);
      for (const yaml::Entry& entry : entries.entries()) {
        const yaml::Node* nodes = entry.value.Find("nodes");
        if (nodes != nullptr) RETURN_IF_ERROR(LeaveList(text, section, entry, *nodes));
      }
    }
    return absl::OkStatus();
  }

  absl::Status LeaveList(YamlText& text, absl::string_view section, const yaml::Entry& entry,
                         const yaml::Node& nodes) {
    const std::vector<yaml::Node> lists =
        nodes.IsScalar() ? std::vector<yaml::Node>{nodes} : nodes.items();
    std::vector<std::pair<const yaml::Node*, std::string>> changed;
    size_t emptied = 0;
    for (const yaml::Node& list : lists) {
      absl::StatusOr<std::string> narrow = NarrowPattern(list.text(), names_);
      if (!narrow.ok()) return text.document().Error(list, narrow.status().message());
      if (*narrow == list.text()) continue;
      emptied += narrow->empty();
      changed.emplace_back(&list, *std::move(narrow));
    }
    if (emptied > 0 && emptied == lists.size()) {
      // One without nodes is no partition; a policy without a list would have all of them.
      if (section != "groups" && section != "racks")
        return absl::FailedPreconditionError(
            absl::StrCat(PlaceOf(text, entry.key_mark), ": ", WordOf(section), " ", entry.key,
                         " has no other node than ", FoldHostlist({names_.begin(), names_.end()}),
                         ": give it another one, or remove it, first"));
      return text.ReplaceList(nodes, "[]");
    }
    for (const auto& [list, narrow] : changed)
      RETURN_IF_ERROR(narrow.empty() ? text.RemoveItem(*list) : text.Replace(*list, narrow));
    return absl::OkStatus();
  }

  InventoryTexts& texts_;
  const Names names_;
};

}  // namespace

absl::StatusOr<NodeRemoval> RemoveNodes(const Files& files, const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(InventoryTexts texts, ParseSections(files));
  RETURN_IF_ERROR(Removing(texts, names).Run());
  NodeRemoval removal;
  ASSIGN_OR_RETURN(removal.texts,
                   ChangedTexts(texts, absl::StrCat("remove ", FoldHostlist(names))));
  for (const std::string& name : names) {
    for (const auto& [path, text] : files)
      for (const char* ending : {".yaml", ".yml"})
        if (absl::EndsWith(path, absl::StrCat("/node_vars/", name, ending)))
          removal.files.insert(path);
  }
  return removal;
}

}  // namespace muster::cli
