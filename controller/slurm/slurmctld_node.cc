#include "controller/slurm/slurmctld_node.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "controller/inventory/inventory.h"

namespace muster::controller::slurm {
namespace {

constexpr absl::string_view kVariable = "slurm_controller";

// The variable's value for the worker nodes: all nodes have to agree on it. nullptr: not set.
const Variable* Find(const std::vector<Variable>& variables) {
  const Variable* found = nullptr;
  for (const Variable& variable : variables) {
    if (variable.name == kVariable) found = &variable;
  }
  return found;
}

}  // namespace

absl::StatusOr<std::string> SlurmctldNode(const Inventory& inventory) {
  const Node* login = nullptr;
  const Node* worker = nullptr;
  for (const Node& node : inventory.nodes()) {
    if (login == nullptr && node.role == NodeRole::kLogin) login = &node;
    if (worker == nullptr && node.role == NodeRole::kCompute) worker = &node;
  }
  const Node* const asked = worker != nullptr ? worker : login;
  const std::vector<Variable> variables =
      asked == nullptr ? inventory.vars() : VariablesOf(inventory, *asked);
  const Variable* variable = Find(variables);
  if (variable == nullptr) {
    if (login != nullptr) return login->name;
    return absl::FailedPreconditionError(
        "the inventory has no login node, and no variable slurm_controller that names the node of "
        "slurmctld");
  }
  const std::string name =
      variable->value->is_string() ? variable->value->get<std::string>() : variable->value->dump();
  if (inventory.FindNode(name) != nullptr) return name;
  return absl::FailedPreconditionError(
      absl::StrCat(variable->place.ToString(), ": slurm_controller is '", name,
                   "', which is not a node of the inventory; write the name of the node on which "
                   "slurmctld runs"));
}

}  // namespace muster::controller::slurm
