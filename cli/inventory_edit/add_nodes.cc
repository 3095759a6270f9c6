#include "cli/inventory_edit/add_nodes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/inventory_edit/inventory_texts.h"
#include "cli/inventory_edit/widen_hostlist.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {
namespace {

using Files = std::map<std::string, std::string>;

bool Contains(const std::vector<std::string>& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Edits the files for one addition.
class Adding {
 public:
  Adding(InventoryTexts& texts, const NodeAddition& addition)
      : texts_(texts), addition_(addition) {}

  absl::Status Run() {
    for (const std::string& name : addition_.names) {
      if (const auto found = FindNode(texts_, name); found.has_value())
        return absl::AlreadyExistsError(absl::StrCat(PlaceOf(*found->text, found->entry.key_mark),
                                                     ": node ", name,
                                                     " is in the inventory already"));
    }
    const auto like = FindNode(texts_, addition_.like);
    if (!like.has_value())
      return absl::NotFoundError(
          absl::StrCat("the inventory has no node '", addition_.like, "' to be like"));
    RETURN_IF_ERROR(DefineAll(*like));
    for (const char* section : {"groups", "partitions", "updates", "drift"})
      RETURN_IF_ERROR(Join(section));
    return has_rack_in_entry_ || addition_.rack.empty() ? Join("racks") : JoinRack();
  }

 private:
  // An entry of several nodes has one MAC address for each.
  absl::Status DefineAll(const NodeDefinition& like) {
    const bool has_several =
        std::any_of(addition_.macs.begin(), addition_.macs.end(),
                    [](const auto& of_node) { return of_node.second.size() > 1; });
    if (!has_several) return Define(like, addition_.names);
    for (const std::string& name : addition_.names) RETURN_IF_ERROR(Define(like, {name}));
    return absl::OkStatus();
  }

  absl::Status Define(const NodeDefinition& like, const std::vector<std::string>& names) {
    const yaml::Entry& entry = like.entry;
    const bool has_macs = !addition_.macs.empty();
    const yaml::Node* mac = entry.value.Find("mac");
    if (mac != nullptr && !has_macs)
      return like.text->document().Error(
          *mac, absl::StrCat(addition_.like,
                             " has a MAC address, which is one node's own; write "
                             "the entry of ",
                             NewNodes(), " by hand"));
    const yaml::Node* rack = entry.value.Find("rack");
    has_rack_in_entry_ = rack != nullptr;
    const bool moves =
        has_rack_in_entry_ && !addition_.rack.empty() && rack->text() != addition_.rack;
    const bool may_copy = like.text->StandsAlone(like.section, entry);
    if (moves && !may_copy)
      return like.text->document().Error(
          *rack, absl::StrCat("this entry puts its nodes into rack ", rack->text(),
                              "; write one for ", NewNodes(), " in ", addition_.rack, " by hand"));
    if (has_macs && !may_copy)
      return like.text->document().Error(
          entry.key_mark, absl::StrCat("the entry of ", addition_.like,
                                       " has no lines of its own that could be copied; write the "
                                       "entry of ",
                                       NewNodes(), " by hand"));
    const bool copies = moves || has_macs || (like.names.size() == 1 && may_copy);
    std::map<std::string, std::string> values;
    RETURN_IF_ERROR(TakeAddresses(like, "address", names, addition_.addresses, copies, values));
    RETURN_IF_ERROR(
        TakeAddresses(like, "bmc_address", names, addition_.bmc_addresses, copies, values));
    if (moves) values["rack"] = addition_.rack;
    if (copies) {
      ASSIGN_OR_RETURN(const std::string key, WriteHostlist(names));
      std::map<std::string, std::string> written;
      if (has_macs) written["mac"] = WriteMacs(names);
      return like.text->CopyEntry(entry, key, values, written);
    }
    const absl::StatusOr<std::string> key = WidenHostlist(entry.key, names, Widening::kAtTheEnd);
    if (!key.ok()) return like.text->document().Error(entry.key_mark, key.status().message());
    RETURN_IF_ERROR(like.text->ReplaceKey(entry, *key));
    for (const auto& [name, value] : values)
      RETURN_IF_ERROR(like.text->Replace(*entry.value.Find(name), value));
    return absl::OkStatus();
  }

  // The text of the entry's `key` with the addresses of these new nodes: with those of the others
  // before them, or alone if `copies`.
  absl::Status TakeAddresses(const NodeDefinition& like, const char* key,
                             const std::vector<std::string>& names,
                             const std::map<std::string, std::string>& addresses, bool copies,
                             std::map<std::string, std::string>& values) const {
    const yaml::Node* written = like.entry.value.Find(key);
    const bool is_given = !addresses.empty();
    const std::string option = absl::StrCat("--", absl::StrReplaceAll(key, {{"_", "-"}}));
    if (written == nullptr && is_given)
      return like.text->document().Error(
          like.entry.key_mark,
          absl::StrCat("the nodes of this entry have no ", key, "; leave ", option,
                       " out, or write the entry of ", NewNodes(), " by hand"));
    if (written == nullptr) return absl::OkStatus();
    std::vector<std::string> added;
    for (const std::string& name : names) {
      const auto found = addresses.find(name);
      if (found == addresses.end())
        return like.text->document().Error(
            *written, absl::StrCat(name, " needs its own ", key, ": pass ", option));
      added.push_back(found->second);
    }
    const absl::StatusOr<std::string> list =
        copies ? WriteHostlist(added) : WidenHostlist(written->text(), added, Widening::kAtTheEnd);
    if (!list.ok()) return like.text->document().Error(*written, list.status().message());
    values[key] = *list;
    return absl::OkStatus();
  }

  // Adds the nodes to the lists of one section in which `like` stands by its name.
  absl::Status Join(const char* section) {
    for (YamlText& text : texts_) {
      for (const yaml::Entry& entry : SectionOf(text, section).entries()) {
        const yaml::Node* nodes = entry.value.Find("nodes");
        if (nodes == nullptr) continue;
        if (nodes->IsScalar()) RETURN_IF_ERROR(JoinList(text, *nodes));
        for (const yaml::Node& item : nodes->items()) RETURN_IF_ERROR(JoinList(text, item));
      }
    }
    return absl::OkStatus();
  }

  // A host list, or a pattern: of that, the terms that are host lists; a group or a glob follows by
  // itself. A term that keeps `like` out keeps the new nodes out, too.
  absl::Status JoinList(YamlText& text, const yaml::Node& list) const {
    std::vector<std::string> terms;
    bool is_changed = false;
    for (const absl::string_view term : SplitItems(list.text())) {
      absl::string_view names = absl::StripAsciiWhitespace(term);
      absl::ConsumePrefix(&names, "!");
      const absl::StatusOr<std::vector<std::string>> expanded = ExpandHostlist(names);
      terms.emplace_back(term);
      if (!expanded.ok() || !Contains(*expanded, addition_.like)) continue;
      const absl::StatusOr<std::string> wide =
          WidenHostlist(names, Missing(*expanded), Widening::kBesideLike, addition_.like);
      if (!wide.ok()) return text.document().Error(list, wide.status().message());
      terms.back().replace(static_cast<size_t>(names.data() - term.data()), names.size(), *wide);
      is_changed = is_changed || terms.back() != term;
    }
    return is_changed ? text.Replace(list, absl::StrJoin(terms, ",")) : absl::OkStatus();
  }

  // The new nodes that a list does not have yet.
  std::vector<std::string> Missing(const std::vector<std::string>& names) const {
    std::vector<std::string> missing;
    for (const std::string& name : addition_.names)
      if (!Contains(names, name)) missing.push_back(name);
    return missing;
  }

  // Adds the nodes to the list of the rack that was named, whether or not `like` is in it.
  absl::Status JoinRack() {
    for (YamlText& text : texts_) {
      const yaml::Node racks = SectionOf(text, "racks");
      const yaml::Entry* rack = racks.FindEntry(addition_.rack);
      if (rack == nullptr) continue;
      const yaml::Node* nodes = rack->value.Find("nodes");
      const yaml::Node list = nodes == nullptr || nodes->items().empty()
                                  ? (nodes == nullptr ? yaml::Node() : *nodes)
                                  : nodes->items().back();
      if (!list.IsScalar())
        return text.document().Error(
            rack->key_mark, absl::StrCat("rack ", addition_.rack, " lists no nodes; add `nodes: ",
                                         NewNodes(), "` and the nodes' entry by hand"));
      const absl::StatusOr<std::string> wide =
          WidenHostlist(list.text(), addition_.names, Widening::kAtTheEnd);
      if (!wide.ok()) return text.document().Error(list, wide.status().message());
      return text.Replace(list, *wide);
    }
    return absl::NotFoundError(
        absl::StrCat("the inventory has no rack '", addition_.rack, "'; add it first"));
  }

  // In the order of the nodes, as an entry of one or of several has them.
  std::string WriteMacs(const std::vector<std::string>& names) const {
    std::vector<std::string> macs;
    for (const std::string& name : names) {
      const auto found = addition_.macs.find(name);
      if (found == addition_.macs.end()) continue;
      for (const std::string& mac : found->second) macs.push_back(absl::StrCat("\"", mac, "\""));
    }
    return macs.size() == 1 ? macs[0] : absl::StrCat("[", absl::StrJoin(macs, ", "), "]");
  }

  std::string NewNodes() const { return FoldHostlist(addition_.names); }

  InventoryTexts& texts_;
  const NodeAddition& addition_;
  bool has_rack_in_entry_ = false;
};

// "c016" is {"c", 16}.
struct Numbered {
  std::string prefix;
  size_t digits = 0;
  uint64_t number = 0;
};

std::optional<Numbered> SplitNumber(absl::string_view name) {
  size_t begin = name.size();
  while (begin > 0 && absl::ascii_isdigit(name[begin - 1])) --begin;
  Numbered split{std::string(name.substr(0, begin)), 0};
  if (!absl::SimpleAtoi(name.substr(begin), &split.number)) return std::nullopt;
  return split;
}

}  // namespace

std::string NodeLike(const std::vector<std::string>& existing, absl::string_view name) {
  const std::optional<Numbered> wanted = SplitNumber(name);
  if (!wanted.has_value()) return "";
  std::string below, above;
  uint64_t below_number = 0, above_number = 0;
  for (const std::string& each : existing) {
    const std::optional<Numbered> split = SplitNumber(each);
    if (!split.has_value() || split->prefix != wanted->prefix) continue;
    if (split->number < wanted->number) {
      if (below.empty() || split->number > below_number) {
        below = each;
        below_number = split->number;
      }
    } else if (split->number > wanted->number && (above.empty() || split->number < above_number)) {
      above = each;
      above_number = split->number;
    }
  }
  return below.empty() ? above : below;
}

absl::StatusOr<Files> AddNodes(const Files& files, const NodeAddition& addition) {
  ASSIGN_OR_RETURN(InventoryTexts texts, ParseSections(files));
  RETURN_IF_ERROR(Adding(texts, addition).Run());
  return ChangedTexts(texts, absl::StrCat("add ", FoldHostlist(addition.names)));
}

}  // namespace muster::cli
