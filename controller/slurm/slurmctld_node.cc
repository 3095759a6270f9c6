#include "controller/slurm/slurmctld_node.h"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "controller/inventory/inventory.h"

namespace muster::controller::slurm {
namespace {

const Node* FirstOf(const Inventory& inventory, NodeRole role) {
  for (const Node& node : inventory.nodes()) {
    if (node.role == role) return &node;
  }
  return nullptr;
}

// As the worker nodes see them: all nodes have to agree on what is asked of them here.
std::vector<Variable> VariablesOfWorkers(const Inventory& inventory) {
  const Node* const worker = FirstOf(inventory, NodeRole::kCompute);
  const Node* const asked = worker != nullptr ? worker : FirstOf(inventory, NodeRole::kLogin);
  return asked == nullptr ? inventory.vars() : VariablesOf(inventory, *asked);
}

// nullptr: not set.
const Variable* Find(const std::vector<Variable>& variables, absl::string_view name) {
  const Variable* found = nullptr;
  for (const Variable& variable : variables) {
    if (variable.name == name) found = &variable;
  }
  return found;
}

absl::StatusOr<std::string> NodeNamed(const Inventory& inventory, const Variable& variable,
                                      const nlohmann::ordered_json& value) {
  const std::string name = value.is_string() ? value.get<std::string>() : value.dump();
  if (inventory.FindNode(name) != nullptr) return name;
  return absl::FailedPreconditionError(
      absl::StrCat(variable.place.ToString(), ": ", variable.name, " is '", name,
                   "', which is not a node of the inventory; write the name of the node on which "
                   "slurmctld runs"));
}

}  // namespace

bool HasPlaceForSlurmctld(const Inventory& inventory) {
  return FirstOf(inventory, NodeRole::kLogin) != nullptr ||
         Find(VariablesOfWorkers(inventory), "slurm_controller") != nullptr;
}

absl::StatusOr<std::vector<std::string>> SlurmctldNodes(const Inventory& inventory) {
  const Node* const login = FirstOf(inventory, NodeRole::kLogin);
  const std::vector<Variable> variables = VariablesOfWorkers(inventory);
  std::vector<std::string> nodes;
  if (const Variable* primary = Find(variables, "slurm_controller"); primary != nullptr) {
    ASSIGN_OR_RETURN(std::string name, NodeNamed(inventory, *primary, *primary->value));
    nodes.push_back(std::move(name));
  } else if (login != nullptr) {
    nodes.push_back(login->name);
  } else {
    return absl::FailedPreconditionError(
        "the inventory has no login node, and no variable slurm_controller that names the node of "
        "slurmctld");
  }
  const Variable* backups = Find(variables, "slurm_backup_controllers");
  if (backups == nullptr || *backups->value == "") return nodes;
  // A text is a list of one.
  const nlohmann::ordered_json list = backups->value->is_array()
                                          ? *backups->value
                                          : nlohmann::ordered_json::array({*backups->value});
  for (const nlohmann::ordered_json& backup : list) {
    ASSIGN_OR_RETURN(std::string name, NodeNamed(inventory, *backups, backup));
    nodes.push_back(std::move(name));
  }
  return nodes;
}

}  // namespace muster::controller::slurm
