#include "controller/playbook/compile/node_stack.h"

#include <map>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/containers.h"
#include "common/base/status.h"
#include "common/value/folded_value.h"
#include "controller/playbook/errors.h"
#include "controller/playbook/explain/explain_secrets.h"
#include "controller/playbook/words.h"
#include "controller/stack/stack_fit.h"

namespace muster::controller {
namespace playbook {
namespace {

// A variable as the inventory or the command line gives it.
struct GivenValue {
  absl::StatusOr<Value> value;
  std::string place;
  Place where;
};

// nullopt: nobody gives the variable.
std::optional<GivenValue> FindGiven(absl::string_view name, NodeScope& node) {
  const ValueTemplate* const extra = node.play().FindExtra(name);
  const Variable* const variable = node.FindVariable(name);
  if (extra == nullptr && variable == nullptr) return std::nullopt;
  const Role none;
  RoleScope scope(node, none);
  if (extra != nullptr) return GivenValue{extra->Evaluate(scope.scope()), "-e", {"-e"}};
  const absl::StatusOr<const ValueTemplate*> parsed = node.play().Parse(*variable);
  return GivenValue{parsed.ok() ? (*parsed)->Evaluate(scope.scope()) : parsed.status(),
                    variable->place.ToString(), variable->place};
}

// The text of a value that may be one, such as a version without quotes; "" for any other.
std::string TextOf(const Value& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? value.dump() : "";
}

// A part of a node's facts, unfolded; null where there is none.
Value PartOf(const Value& facts, const char* name) {
  if (!facts.is_object()) return Value();
  const auto found = facts.find(name);
  return found == facts.end() ? Value() : UnfoldAll(*found);
}

// The text under `key`; "" where there is none.
std::string Member(const Value& map, const char* key) {
  if (!map.is_object()) return "";
  const auto found = map.find(key);
  return found == map.end() || !found->is_string() ? "" : found->get<std::string>();
}

stack::NodeState StateOf(NodeScope& node) {
  stack::NodeState state;
  if (const std::optional<GivenValue> model = FindGiven("gpu_model", node);
      model.has_value() && model->value.ok() && model->value->is_string()) {
    state.gpu_model = {model->value->get<std::string>(), model->where};
  }
  const Value* const facts = node.play().FindFacts(node.name());
  if (facts == nullptr) return state;
  const Value os = PartOf(*facts, "os");
  state.os_id = Member(os, "id");
  state.os_version = Member(os, "version_id");
  // A container shows its host's kernel and devices.
  if (IsContainer(Member(os, "virtualization"))) return state;
  state.kernel = Member(os, "kernel");
  state.next_kernel = Member(os, "next_kernel");
  const Value devices = PartOf(*facts, "pci_devices");
  if (!devices.is_array()) return state;
  for (const Value& device : devices) {
    if (Member(device, "vendor_id") == "10de" &&
        absl::StartsWith(Member(device, "class_code"), "03")) {
      state.gpu_devices.push_back(Member(device, "device_id"));
    }
  }
  return state;
}

}  // namespace

absl::StatusOr<ChosenStack> ChooseStack(const stack::StackSet& stacks, NodeScope& node) {
  ChosenStack chosen;
  std::optional<GivenValue> given = FindGiven(kStackVariable, node);
  if (!given.has_value()) return chosen;
  if (!given->value.ok()) {
    return Annotate(given->value.status(),
                    absl::StrCat("in variable 'stack' (", given->place, ")"));
  }
  const Value& name = *given->value;
  if (name.is_null() || (name.is_string() && name.get<std::string>().empty())) return chosen;
  if (!name.is_string()) {
    return absl::InvalidArgumentError(absl::StrCat(
        given->place, ": 'stack' must be the name of a stack, not ", name.type_name()));
  }
  chosen.stack = stacks.Find(name.get<std::string>());
  chosen.place = given->place;
  if (chosen.stack == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(given->place, ": ", stacks.Unknown(name.get<std::string>())));
  }
  return chosen;
}

std::vector<std::string> StackProblems(const stack::StackSet& stacks, const ChosenStack& chosen,
                                       NodeScope& node) {
  if (chosen.stack == nullptr) return {};
  std::vector<std::string> problems =
      stack::CheckFit(*chosen.stack, StateOf(node), stacks.gpu_models());
  for (const stack::PinnedVariable& variable : stack::PinnedVariables()) {
    const std::optional<GivenValue> given = FindGiven(variable.name, node);
    if (!given.has_value() || !given->value.ok()) continue;
    std::string problem =
        stack::CheckPinned(*chosen.stack, variable, TextOf(*given->value), given->place);
    if (!problem.empty()) problems.push_back(std::move(problem));
  }
  return problems;
}

absl::StatusOr<ChosenStack> SeeStack(const stack::StackSet& stacks, NodeScope& node) {
  ASSIGN_OR_RETURN(const ChosenStack chosen, ChooseStack(stacks, node));
  if (chosen.stack != nullptr) {
    node.SetStack(chosen.stack->name, stacks.ValueOf(chosen.stack->name));
  }
  return chosen;
}

absl::Status TakeStack(const stack::StackSet& stacks, NodeScope& node) {
  ASSIGN_OR_RETURN(const ChosenStack chosen, SeeStack(stacks, node));
  ErrorList errors;
  for (const std::string& problem : StackProblems(stacks, chosen, node)) {
    errors.Add(absl::FailedPreconditionError(
        absl::StrCat(problem, "; stack '", chosen.stack->name, "' was chosen at ", chosen.place)));
  }
  return errors.ToStatus();
}

}  // namespace playbook

std::vector<NodeStack> CheckStacks(const stack::StackSet& stacks, const Inventory& inventory,
                                   const FactsByNode& facts, const std::vector<const Node*>& nodes,
                                   const stack::Stack* other) {
  const std::map<std::string, std::string> no_secrets;
  playbook::NamedSecrets secrets(no_secrets);
  playbook::PlayScope play(inventory, facts, {}, {}, secrets, "", nodes.size());
  std::vector<NodeStack> checked;
  for (const Node* const node : nodes) {
    NodeStack& result = checked.emplace_back();
    result.node = node->name;
    playbook::NodeScope scope(play, *node);
    result.has_facts = scope.has_facts();
    const absl::StatusOr<playbook::ChosenStack> own = playbook::ChooseStack(stacks, scope);
    if (own.ok()) {
      result.stack = own->stack == nullptr ? "" : own->stack->name;
      result.place = own->place;
    } else if (other == nullptr) {
      result.problems.emplace_back(own.status().message());
      continue;
    }
    const playbook::ChosenStack chosen =
        other == nullptr ? *own : playbook::ChosenStack{other, result.place};
    if (chosen.stack == nullptr) continue;
    scope.SetStack(chosen.stack->name, stacks.ValueOf(chosen.stack->name));
    result.problems = playbook::StackProblems(stacks, chosen, scope);
  }
  return checked;
}

stack::Reported ReportedBy(const FactsByNode& facts, const std::string& node) {
  const auto found = facts.find(node);
  if (found == facts.end() || !found->second.is_object()) return {};
  return {playbook::Member(found->second, "nvidia_driver_version"),
          playbook::Member(playbook::PartOf(found->second, "slurm"), "version")};
}

}  // namespace muster::controller
