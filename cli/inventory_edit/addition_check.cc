#include "cli/inventory_edit/addition_check.h"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {
namespace {

using Names = std::set<std::string>;

// The kinds of lists that nodes are in: their words in changes, and their sections.
constexpr struct {
  absl::string_view word;
  const char* section;
} kLists[] = {{"rack", "racks"},
              {"group", "groups"},
              {"partition", "partitions"},
              {"update policy", "updates"}};

// A list as the inventory and its changes show it: "c[001-003]", "(none)" or empty.
bool ReadNames(absl::string_view text, Names* names) {
  if (text.empty() || text == "(none)") return true;
  const absl::StatusOr<std::vector<std::string>> expanded = ExpandHostlist(text);
  if (expanded.ok()) names->insert(expanded->begin(), expanded->end());
  return expanded.ok();
}

// "+ nodes c[017-018]: compute": adds the names to `added`.
bool ReadNewNodes(absl::string_view line, Names* added) {
  if (!absl::ConsumePrefix(&line, "+ nodes ") && !absl::ConsumePrefix(&line, "+ node "))
    return false;
  return ReadNames(line.substr(0, line.find(':')), added);
}

// "~ group gpu: nodes c[001-016] -> c[001-018]", where nothing but `names` is new.
bool ReadMembership(absl::string_view line, const Names& names, std::string* list) {
  for (const auto& each : kLists) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, absl::StrCat("~ ", each.word, " "))) continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(rest, absl::MaxSplits(": nodes ", 1));
    const std::vector<absl::string_view> sides = absl::StrSplit(parts.second, " -> ");
    Names before, after;
    if (sides.size() != 2 || !ReadNames(sides[0], &before) || !ReadNames(sides[1], &after))
      return false;
    before.insert(names.begin(), names.end());
    *list = absl::StrCat(each.word, " ", parts.first);
    return before == after;
  }
  return false;
}

// The lists that the new nodes have to get into: "group gpu".
std::set<std::string> ListsOf(const std::string& resolved_json, const NodeAddition& addition) {
  std::set<std::string> lists;
  const auto inventory = nlohmann::json::parse(resolved_json, nullptr, false);
  for (const auto& each : kLists) {
    if (!inventory.is_object() || !inventory.contains(each.section)) continue;
    for (const auto& [name, list] : inventory[each.section].items()) {
      Names members;
      if (!list.is_object() || !ReadNames(list.value("nodes", ""), &members)) continue;
      const bool is_in = each.word == "rack" && !addition.rack.empty()
                             ? name == addition.rack
                             : members.count(addition.like) > 0;
      if (is_in) lists.insert(absl::StrCat(each.word, " ", name));
    }
  }
  return lists;
}

}  // namespace

absl::Status CheckAddition(const std::vector<std::string>& changes,
                           const std::string& resolved_json, const NodeAddition& addition) {
  const Names names(addition.names.begin(), addition.names.end());
  Names added;
  std::set<std::string> lists;
  for (const std::string& line : changes) {
    std::string list;
    if (ReadNewNodes(line, &added)) continue;
    if (!ReadMembership(line, names, &list))
      return absl::FailedPreconditionError(
          absl::StrCat("the inventory would change otherwise than by ",
                       FoldHostlist(addition.names), ": ", line));
    lists.insert(list);
  }
  if (added != names)
    return absl::FailedPreconditionError(
        absl::StrCat("the inventory would get ",
                     added.empty() ? "no node" : FoldHostlist({added.begin(), added.end()}),
                     " instead of ", FoldHostlist(addition.names)));
  if (addition.like.empty()) return absl::OkStatus();
  std::vector<std::string> differing;
  const std::set<std::string> wanted = ListsOf(resolved_json, addition);
  std::set_symmetric_difference(lists.begin(), lists.end(), wanted.begin(), wanted.end(),
                                std::back_inserter(differing));
  if (differing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(FoldHostlist(addition.names), " would not be in what ", addition.like,
                   " is in: they differ in ", absl::StrJoin(differing, ", ")));
}

}  // namespace muster::cli
