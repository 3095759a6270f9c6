#include "controller/rollout/way_back/rollout_stack.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/inventory/inventory.h"
#include "controller/rollout/applications.h"
#include "controller/rollout/collaborators.h"
#include "controller/run/collaborators.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller::rollout {
namespace {

constexpr absl::string_view kVariable = "stack";

// nullopt: the inventory says nothing.
std::optional<Variable> StackVariable(const Inventory& inventory, const Node& node) {
  std::optional<Variable> found;
  for (const Variable& variable : VariablesOf(inventory, node)) {
    if (variable.name == kVariable) found = variable;
  }
  return found;
}

std::string TextOf(const Variable& variable) {
  return variable.value->is_string() ? variable.value->get<std::string>() : variable.value->dump();
}

bool HasOther(const Inventory& inventory, const std::string& stack,
              const std::vector<std::string>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
    return inventory.FindNode(node) != nullptr && StackOf(inventory, node) != stack;
  });
}

}  // namespace

std::string StackOf(const Inventory& inventory, absl::string_view node) {
  const Node* known = inventory.FindNode(node);
  if (known == nullptr) return "";
  const std::optional<Variable> variable = StackVariable(inventory, *known);
  return variable.has_value() ? TextOf(*variable) : "";
}

absl::Status CheckStackInForce(const Inventory& inventory, const std::string& stack,
                               const std::vector<std::string>& nodes) {
  for (const std::string& name : nodes) {
    const Node* node = inventory.FindNode(name);
    if (node == nullptr) continue;
    const std::optional<Variable> variable = StackVariable(inventory, *node);
    const std::string has = variable.has_value() ? TextOf(*variable) : "";
    if (has == stack) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the inventory gives ", name,
        has.empty() ? " no stack"
                    : absl::StrCat(" stack '", has, "' (", variable->place.ToString(), ")"),
        ", not '", stack, "'; `muster update ", stack,
        "` in the site folder changes it and starts the rollout"));
  }
  return absl::OkStatus();
}

absl::StatusOr<const Application*> BeforeStack(const RolloutCollaborators& with,
                                               const std::vector<Application>& applications,
                                               const std::string& stack,
                                               const std::vector<std::string>& nodes) {
  std::set<uint64_t> read, compared;
  for (const Application& each : applications) {
    if (each.has_variables || !each.has_succeeded) continue;
    read.insert(each.inventory_revision);
    if (read.size() > kRevisionsRead) break;
    ASSIGN_OR_RETURN(const bool covers,
                     Covers(with.inventory, each.inventory_revision, each.limit, nodes));
    if (!covers || !compared.insert(each.inventory_revision).second) continue;
    const auto before = with.inventory.Get(each.inventory_revision);
    // One that cannot be read any more is nothing to go back to.
    if (before.ok() && HasOther(**before, stack, nodes)) return &each;
  }
  return nullptr;
}

std::string StillChosen(const RolloutCollaborators& with, const v1::CreateRolloutRequest& request,
                        uint64_t revision, const std::vector<std::string>& nodes) {
  if (request.revision_before() == 0) return "";
  const absl::StatusOr<std::shared_ptr<const Inventory>> before = with.inventory.Get(revision - 1);
  const bool is_choice = before.ok() && HasOther(**before, request.stack(), nodes);
  return absl::StrCat("; the inventory still says '", request.stack(), "': ",
                      is_choice
                          ? absl::StrCat("`muster inventory revert ", revision, "` undoes that")
                          : "undo it there",
                      ", or the next apply moves them again");
}

absl::Status TakeStackBack(const RolloutCollaborators& with, const std::vector<std::string>& nodes,
                           v1::CreateRolloutRequest& request) {
  const uint64_t revision = request.revision_before();
  request.clear_stack();
  request.clear_revision_before();
  if (revision == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::shared_ptr<const Inventory> before, with.inventory.Get(revision));
  for (const std::string& node : nodes) {
    if (before->FindNode(node) != nullptr)
      (*request.mutable_node_stacks())[node] = StackOf(*before, node);
  }
  return absl::OkStatus();
}

}  // namespace muster::controller::rollout
