#include "cli/inventory_folder/inventory_addition.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/inventory_edit/addition_check.h"
#include "cli/inventory_edit/inventory_texts.h"
#include "cli/inventory_folder/inventory_files.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {
namespace {

using Texts = std::map<std::string, std::string>;
using Names = std::vector<std::string>;

Names Without(const Names& names, const Names& others) {
  Names rest;
  std::copy_if(names.begin(), names.end(), std::back_inserter(rest), [&](const std::string& name) {
    return std::find(others.begin(), others.end(), name) == others.end();
  });
  return rest;
}

// The nodes of `addition` that are in force; those have to be what is asked for.
absl::StatusOr<Names> Present(const nlohmann::json& nodes, const NodeAddition& addition) {
  Names present;
  for (const std::string& name : addition.names) {
    const auto node = nodes.find(name);
    if (node == nodes.end()) continue;
    present.push_back(name);
    const auto wanted = [&](const Texts& texts) {
      const auto found = texts.find(name);
      return found == texts.end() ? std::string() : found->second;
    };
    const std::pair<const char*, std::string> kWanted[] = {
        {"address", wanted(addition.addresses)},
        {"bmc_address", wanted(addition.bmc_addresses)},
        {"rack", addition.rack}};
    for (const auto& [key, value] : kWanted) {
      const std::string is = node->value(key, "");
      if (value.empty() || value == is) continue;
      return absl::FailedPreconditionError(
          absl::StrCat(name, " is in the inventory already, with ", key, " '", is, "', not '",
                       value, "'; change it there, or leave the option out"));
    }
  }
  return present;
}

absl::StatusOr<std::string> ChooseLike(const NodeAddition& addition, const Names& existing) {
  if (!addition.like.empty()) return addition.like;
  std::string like;
  for (const std::string& name : addition.names) {
    const std::string its = NodeLike(existing, name);
    if (its.empty())
      return absl::InvalidArgumentError(absl::StrCat("no node of the inventory is called like ",
                                                     name, "; name one with --like NODE"));
    if (!like.empty() && its != like)
      return absl::InvalidArgumentError(
          absl::StrCat(addition.names[0], " would be like ", like, ", ", name, " like ", its,
                       "; name one node with --like, or add them by two commands"));
    like = its;
  }
  return like;
}

}  // namespace

absl::StatusOr<InventoryAddition> PrepareAddition(const Connection& connection,
                                                  const std::string& path, NodeAddition addition) {
  InventoryAddition result;
  ASSIGN_OR_RETURN(*result.request.mutable_files(), ReadInventoryFiles(path));
  ASSIGN_OR_RETURN(const std::string in_force, ResolvedInventory(connection));
  ASSIGN_OR_RETURN(result.present,
                   Present(nlohmann::json::parse(in_force, nullptr, false)["nodes"], addition));
  ASSIGN_OR_RETURN(const Names differences, Differences(connection, result.request));
  addition.names = Without(addition.names, result.present);
  if (addition.names.empty()) {
    if (!differences.empty()) return InventoriesDiffer(path, differences[0]);
    return result;
  }

  const Texts texts = TextsOf(result.request);
  ASSIGN_OR_RETURN(const Names existing, NodesOf(texts));
  if (Without(addition.names, existing).empty()) {
    // Written by hand, or by an earlier call that did not come further.
    addition.like.clear();
    const absl::Status is_all = CheckAddition(differences, in_force, addition);
    if (!is_all.ok()) return InventoriesDiffer(path, std::string(is_all.message()));
    result.changes = differences;
    return result;
  }
  if (!differences.empty()) return InventoriesDiffer(path, differences[0]);
  ASSIGN_OR_RETURN(addition.like, ChooseLike(addition, existing));
  result.like = addition.like;
  ASSIGN_OR_RETURN(Texts edited, AddNodes(texts, addition));
  RETURN_IF_ERROR(TakeEdit(connection, std::move(edited), {}, result));
  RETURN_IF_ERROR(CheckAddition(result.changes, in_force, addition));
  return result;
}

}  // namespace muster::cli
