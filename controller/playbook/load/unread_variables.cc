// CheckVariableNames: names of variables in an inventory or of -e that nothing reads.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text/joined_errors.h"
#include "controller/inventory/inventory.h"
#include "controller/inventory/own_variables.h"
#include "controller/playbook/compiler.h"
#include "controller/playbook/load/site_files.h"

namespace muster::controller {
namespace {

// A site may keep any number of variables for itself; comparing takes longer than finding.
constexpr size_t kMostCompared = 1000;

using Variables = std::vector<Variable>;

struct Unread {
  const Variable* variable;
  const Variables* beside;  // those of the same group or node, of all, or of -e
};

// By name, the first variable of each.
using UnreadNames = absl::flat_hash_map<absl::string_view, Unread>;

template <typename Visit>
void VisitVariables(const Inventory& inventory, Visit visit) {
  for (const Variable& variable : inventory.vars()) visit(variable, inventory.vars());
  for (const Group& group : inventory.groups()) {
    for (const Variable& variable : group.vars) visit(variable, group.vars);
  }
  for (const Node& node : inventory.nodes()) {
    for (const Variable& variable : node.vars) visit(variable, node.vars);
  }
}

bool Has(const Variables& variables, absl::string_view name) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const Variable& each) { return each.name == name; });
}

bool IsPartOfName(char c) { return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c)); }

// Removes the names that are words of the text.
void RemoveWordsOf(absl::string_view text, UnreadNames* names) {
  for (auto end = text.begin(); !names->empty();) {
    const auto begin = std::find_if(end, text.end(), IsPartOfName);
    if (begin == text.end()) return;
    end = std::find_if_not(begin, text.end(), IsPartOfName);
    names->erase(absl::string_view(begin, static_cast<size_t>(end - begin)));
  }
}

// Whether it may hold tasks or templates: what is in a folder `files` reaches nodes as it is.
bool MayReadVariables(const std::string& path) {
  return !absl::StrContains(absl::StrCat("/", path), "/files/");
}

// A variable may be there for the templates of others. Nodes share the values of their groups.
void RemoveWordsOfValues(const Inventory& inventory, UnreadNames* names) {
  absl::flat_hash_set<const nlohmann::ordered_json*> seen;
  VisitVariables(inventory, [&](const Variable& variable, const Variables&) {
    if (names->empty() || !variable.written.has_value()) return;
    if (seen.insert(variable.value.get()).second) RemoveWordsOf(variable.value->dump(), names);
  });
}

// The variables that have a default in any role of the site.
std::vector<std::string> DefaultNames(const FileTree& site) {
  std::vector<std::string> names;
  for (const auto& [path, content] : site) {
    if (!absl::EndsWith(path, "/defaults/main.yaml")) continue;
    const absl::StatusOr<yaml::Document> document = playbook::ReadYaml(site, path);
    // An error of the playbooks that use the role.
    if (!document.ok() || !document->root().IsMap()) continue;
    for (const yaml::Entry& entry : document->root().entries()) names.push_back(entry.key);
  }
  return names;
}

}  // namespace

absl::Status CheckVariableNames(const FileTree& site, const Inventory& inventory,
                                const std::map<std::string, nlohmann::ordered_json>& extra_vars) {
  Variables of_command_line;
  for (const auto& [name, value] : extra_vars) {
    Variable& variable = of_command_line.emplace_back();
    variable.name = name;
    variable.value = std::make_shared<const nlohmann::ordered_json>(value);
    variable.level = VariableLevel::kCommandLine;
  }
  UnreadNames names;
  VisitVariables(inventory, [&](const Variable& variable, const Variables& beside) {
    names.emplace(absl::string_view(variable.name), Unread{&variable, &beside});
  });
  for (const Variable& variable : of_command_line)
    names.emplace(absl::string_view(variable.name), Unread{&variable, &of_command_line});
  for (const std::string& name : OwnVariables()) names.erase(absl::string_view(name));
  for (const auto& [path, content] : site) {
    if (names.empty()) break;
    if (MayReadVariables(path)) RemoveWordsOf(content, &names);
  }
  RemoveWordsOfValues(inventory, &names);
  if (names.empty()) return absl::OkStatus();
  std::vector<std::string> known = DefaultNames(site);
  // A site without roles, as that of `muster node reboot`, says nothing about what roles read.
  if (known.empty()) return absl::OkStatus();
  known.insert(known.end(), OwnVariables().begin(), OwnVariables().end());

  std::vector<Unread> unread;
  unread.reserve(names.size());
  for (const auto& [name, each] : names) unread.push_back(each);
  std::sort(unread.begin(), unread.end(), [](const Unread& a, const Unread& b) {
    const auto &x = a.variable->place, &y = b.variable->place;
    return std::tie(x.file, x.line, x.column, a.variable->name) <
           std::tie(y.file, y.line, y.column, b.variable->name);
  });
  if (unread.size() > kMostCompared) unread.resize(kMostCompared);
  ErrorTexts errors;
  for (const auto& [variable, beside] : unread) {
    const std::string nearest = NearestVariable(variable->name, known);
    // Both stand there, this one perhaps for a role that is not here.
    if (nearest.empty() || Has(*beside, nearest)) continue;
    const std::string place =
        variable->level == VariableLevel::kCommandLine
            ? "-e"
            : absl::StrCat(variable->place.ToString(), ":", variable->place.column);
    errors.texts.push_back(absl::StrCat(place, ": no role reads '", variable->name,
                                        "'; did you mean '", nearest, "'?"));
  }
  return JoinErrors(absl::StatusCode::kInvalidArgument, std::move(errors), "\n");
}

}  // namespace muster::controller
