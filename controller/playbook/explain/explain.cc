#include "controller/playbook/explain/explain.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compile/node_stack.h"
#include "controller/playbook/compile/scopes.h"
#include "controller/playbook/explain/explain_secrets.h"
#include "controller/playbook/model.h"
#include "controller/playbook/secret_readers.h"
#include "controller/playbook/words.h"
#include "muster/v1/explain.pb.h"

namespace muster::controller {
namespace playbook {

absl::StatusOr<std::string> NamedSecrets::Get(absl::string_view name,
                                              std::optional<uint32_t> generate_bytes,
                                              const SecretReader& reader) {
  const auto secret = existing_.find(std::string(name));
  // A variable that comes only from the inventory is read without a role.
  if (secret != existing_.end() && !reader.role.empty())
    RETURN_IF_ERROR(CheckReader(name, secret->second, reader));
  if (secret == existing_.end() && !generate_bytes.has_value())
    return absl::NotFoundError(absl::StrCat("no secret ", name));
  return Name(std::string(name));
}

absl::StatusOr<std::string> NamedSecrets::Name(const std::string& name) {
  asked_[name] = existing_.count(name) > 0;
  return absl::StrCat("[secret ", name, "]");
}

Value WithNames(const Value& value) {
  if (IsSecret(value)) return SecretBytes(value);
  if (!value.is_structured()) return value;
  Value out = value;
  for (auto& element : out) element = WithNames(element);
  return out;
}

namespace {

std::string Dump(const Value& value) {
  return WithNames(value).dump(-1, ' ', false, Value::error_handler_t::replace);
}

// The variable that an expression such as "slurm.port" begins with.
absl::string_view BaseOf(absl::string_view name) {
  return name.substr(0, name.find_first_of(".["));
}

// The roles that the playbook gives the node, each once, in order.
absl::StatusOr<std::vector<const Role*>> RolesOf(const Playbook& playbook,
                                                 const ExplainInput& input,
                                                 absl::string_view wanted) {
  std::vector<const Role*> roles;
  std::vector<std::string> known;
  for (size_t i = 0; i < playbook.plays.size(); ++i) {
    ASSIGN_OR_RETURN(const std::vector<std::string> nodes,
                     SelectPlayNodes(playbook, i, input.inventory, ""));
    if (std::find(nodes.begin(), nodes.end(), input.node) == nodes.end()) continue;
    for (const RoleUse& use : playbook.plays[i].roles) {
      known.push_back(use.role->name);
      if (!wanted.empty() && use.role->name != wanted) continue;
      if (std::find(roles.begin(), roles.end(), use.role.get()) == roles.end()) {
        roles.push_back(use.role.get());
      }
    }
  }
  if (!wanted.empty() && roles.empty()) {
    return absl::NotFoundError(absl::StrCat("the playbook gives ", input.node, " no role '", wanted,
                                            "'", DidYouMean(wanted, known)));
  }
  return roles;
}

// From the strongest to the weakest, except the role's defaults.
std::vector<v1::VariableDefinition> CommonDefinitions(const ExplainInput& input, const Node& node,
                                                      absl::string_view base) {
  std::vector<v1::VariableDefinition> definitions;
  const auto add = [&](absl::string_view level, const std::string& owner, const std::string& place,
                       const Value& written) {
    v1::VariableDefinition& definition = definitions.emplace_back();
    definition.set_level(std::string(level));
    definition.set_owner(owner);
    definition.set_place(place);
    definition.set_written(Dump(written));
  };
  const auto extra = input.extra_vars.find(std::string(base));
  if (extra != input.extra_vars.end()) {
    add(VariableLevelName(VariableLevel::kCommandLine), "", "-e", extra->second);
  }
  const std::vector<Variable> variables = VariablesOf(input.inventory, node);
  for (auto it = variables.rbegin(); it != variables.rend(); ++it) {
    if (it->name != base) continue;
    add(VariableLevelName(it->level), it->owner, it->place.ToString(), *it->value);
  }
  return definitions;
}

void Evaluate(absl::string_view name, RoleScope& scope, v1::ExplainedVariable& variable) {
  const absl::StatusOr<Value> value =
      tmpl::EvaluateExpression(name, {.file = "the variable"}, scope.scope());
  if (value.ok()) {
    variable.set_value(Dump(*value));
  } else {
    variable.set_error(std::string(value.status().message()));
  }
}

absl::Status UnknownVariable(absl::string_view base, const ExplainInput& input, NodeScope& node,
                             const std::vector<const Role*>& roles) {
  std::vector<std::string> known = node.VariableNames();
  for (const auto& [name, value] : input.extra_vars) known.push_back(name);
  for (const Role* role : roles) {
    for (const auto& [name, value] : role->defaults) known.push_back(name);
  }
  for (const std::string& name : ReservedNames()) known.push_back(name);
  return absl::NotFoundError(
      absl::StrCat("no variable '", base, "' on ", input.node, DidYouMean(base, known),
                   roles.empty() ? "; pass -p PLAYBOOK to include the defaults of roles" : ""));
}

void AddSecrets(const NamedSecrets& secrets,
                google::protobuf::RepeatedPtrField<v1::ExplainedSecret>* out) {
  for (const auto& [name, exists] : secrets.asked()) {
    v1::ExplainedSecret& secret = *out->Add();
    secret.set_name(name);
    secret.set_exists(exists);
  }
}

absl::StatusOr<const Node*> FindNode(const ExplainInput& input) {
  if (const Node* node = input.inventory.FindNode(input.node)) return node;
  std::vector<std::string> names;
  for (const Node& node : input.inventory.nodes()) names.push_back(node.name);
  return absl::NotFoundError(
      absl::StrCat("no node '", input.node, "' in the inventory", DidYouMean(input.node, names)));
}

}  // namespace
}  // namespace playbook

absl::StatusOr<v1::ExplainVariableResponse> ExplainVariable(const ExplainInput& input,
                                                            const Playbook* playbook,
                                                            absl::string_view role,
                                                            absl::string_view name) {
  ASSIGN_OR_RETURN(const Node* node, playbook::FindNode(input));
  std::vector<const playbook::Role*> roles;
  if (playbook != nullptr) {
    ASSIGN_OR_RETURN(roles, playbook::RolesOf(*playbook, input, role));
  }
  const absl::string_view base = playbook::BaseOf(name);
  const std::vector<v1::VariableDefinition> common =
      playbook::CommonDefinitions(input, *node, base);
  std::vector<const playbook::Role*> defining;
  for (const playbook::Role* each : roles) {
    if (each->defaults.count(base) > 0) defining.push_back(each);
  }
  const playbook::Role none;
  if (defining.empty()) defining.push_back(&none);

  v1::ExplainVariableResponse response;
  for (const playbook::Role* each : defining) {
    playbook::NamedSecrets secrets(input.secrets);
    playbook::PlayScope shared(input.inventory, input.facts, input.extra_vars, input.offer, secrets,
                               playbook == nullptr ? "" : playbook->path);
    shared.ReadAs(each->name);
    RETURN_IF_ERROR(shared.status());
    playbook::NodeScope node_scope(shared, *node);
    if (playbook != nullptr) {
      RETURN_IF_ERROR(playbook::SeeStack(*playbook->stacks, node_scope).status());
    }
    const auto own = each->defaults.find(base);
    if (common.empty() && own == each->defaults.end() && !playbook::IsReserved(base)) {
      return playbook::UnknownVariable(base, input, node_scope, roles);
    }
    v1::ExplainedVariable& variable = *response.add_variables();
    variable.set_role(each->name);
    for (const v1::VariableDefinition& definition : common) {
      *variable.add_definitions() = definition;
    }
    if (own != each->defaults.end()) {
      v1::VariableDefinition& definition = *variable.add_definitions();
      definition.set_level(std::string(VariableLevelName(VariableLevel::kRoleDefaults)));
      definition.set_owner(each->name);
      definition.set_place(own->second.place);
      definition.set_written(own->second.written);
    }
    playbook::RoleScope scope(node_scope, *each);
    playbook::Evaluate(name, scope, variable);
    playbook::AddSecrets(secrets, variable.mutable_secrets());
  }
  return response;
}

}  // namespace muster::controller
