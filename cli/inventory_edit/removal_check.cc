#include "cli/inventory_edit/removal_check.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cli/inventory_edit/inventory_changes.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;  // the first login node is the first one written
using Names = std::set<std::string>;

// The object under the key; an empty one where there is none. Valid as long as `object`.
const Json& PartOf(const Json& object, const char* key) {
  static const Json kNone = Json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kNone;
}

// The first of `names` that the value is, or that is in a host list, a list or a map that it is.
std::string NamedIn(const Json& value, const Names& names) {
  if (value.is_structured()) {
    for (const Json& each : value)
      if (std::string name = NamedIn(each, names); !name.empty()) return name;
  }
  if (!value.is_string()) return "";
  const auto listed = ExpandHostlist(value.get<std::string>());
  if (!listed.ok()) return "";
  const auto found = std::find_if(listed->begin(), listed->end(),
                                  [&](const std::string& name) { return names.count(name) > 0; });
  return found == listed->end() ? "" : *found;
}

absl::Status CheckVariables(const Json& vars, absl::string_view place, const Names& names) {
  for (const auto& [variable, value] : vars.items()) {
    const std::string name = NamedIn(value, names);
    if (!name.empty())
      return absl::FailedPreconditionError(
          absl::StrCat("the variable ", variable, place, " names ", name,
                       ": give it another value, and apply that, first"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRemovable(const std::string& resolved_json,
                            const std::vector<std::string>& names) {
  const Names going(names.begin(), names.end());
  const Json inventory = Json::parse(resolved_json, nullptr, false);
  RETURN_IF_ERROR(CheckVariables(PartOf(inventory, "vars"), "", going));
  for (const auto& [group, value] : PartOf(inventory, "groups").items())
    RETURN_IF_ERROR(
        CheckVariables(PartOf(value, "vars"), absl::StrCat(" of group ", group), going));
  std::string first_login;
  bool keeps_login = false;
  for (const auto& [node, value] : PartOf(inventory, "nodes").items()) {
    const bool is_login = value.is_object() && value.value("role", "") == "login";
    if (is_login && first_login.empty()) first_login = node;
    if (going.count(node) > 0) continue;
    keeps_login = keeps_login || is_login;
    RETURN_IF_ERROR(CheckVariables(PartOf(value, "vars"), absl::StrCat(" of ", node), going));
  }
  if (going.count(first_login) == 0) return absl::OkStatus();
  if (!keeps_login)
    return absl::FailedPreconditionError(
        absl::StrCat(first_login,
                     " is the last login node, and slurmctld needs one: add another "
                     "one first"));
  if (!PartOf(inventory, "vars").contains("slurm_controller"))
    return absl::FailedPreconditionError(
        absl::StrCat("slurmctld runs on ", first_login,
                     ", the first login node: set the variable slurm_controller to another one, "
                     "and apply that, first"));
  return absl::OkStatus();
}

absl::Status CheckReplaceable(const std::string& resolved_json,
                              const std::vector<std::string>& names) {
  const Json inventory = Json::parse(resolved_json, nullptr, false);
  const Json& nodes = PartOf(inventory, "nodes");
  for (const std::string& name : names) {
    const auto node = nodes.find(name);
    if (node == nodes.end())
      return absl::NotFoundError(
          absl::StrCat("the inventory has no node '", name, "'; `muster node add` adds one"));
    const std::string role = node->value("role", "");
    if (role != "compute")
      return absl::FailedPreconditionError(
          absl::StrCat(name, " is a ", role,
                       " node, whose data and services a new machine does not have; restore them "
                       "there, then `muster node bootstrap --ssh ",
                       name, "` and `muster apply`"));
  }
  return absl::OkStatus();
}

absl::Status CheckRemoval(const std::vector<std::string>& changes,
                          const std::vector<std::string>& names) {
  const Names going(names.begin(), names.end());
  Names gone;
  for (const std::string& line : changes) {
    if (ReadNodesLine(line, '-', &gone)) continue;
    std::optional<MembershipChange> change = ReadMembership(line);
    if (change.has_value())
      for (const std::string& name : going) change->before.erase(name);
    if (!change.has_value() || change->before != change->after)
      return absl::FailedPreconditionError(absl::StrCat(
          "the inventory would change otherwise than by ", FoldHostlist(names), ": ", line));
  }
  if (gone == going) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the inventory would lose ",
                   gone.empty() ? "no node" : FoldHostlist({gone.begin(), gone.end()}),
                   " instead of ", FoldHostlist(names)));
}

}  // namespace muster::cli
