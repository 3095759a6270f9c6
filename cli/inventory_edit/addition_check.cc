#include "cli/inventory_edit/addition_check.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/inventory_edit/inventory_changes.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {
namespace {

using Names = std::set<std::string>;

// The lists that the new nodes have to get into: "group gpu".
std::set<std::string> ListsOf(const std::string& resolved_json, const NodeAddition& addition) {
  std::set<std::string> lists;
  const auto inventory = nlohmann::json::parse(resolved_json, nullptr, false);
  for (const ListKind& each : kListKinds) {
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
    if (ReadNodesLine(line, '+', &added)) continue;
    std::optional<MembershipChange> change = ReadMembership(line);
    if (change.has_value()) change->before.insert(names.begin(), names.end());
    if (!change.has_value() || change->before != change->after)
      return absl::FailedPreconditionError(
          absl::StrCat("the inventory would change otherwise than by ",
                       FoldHostlist(addition.names), ": ", line));
    lists.insert(change->list);
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
