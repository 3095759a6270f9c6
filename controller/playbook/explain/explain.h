// Explains why a variable or a step is as it is on a node. Pure; reads no secret and makes none.
#pragma once

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/playbook/compiler.h"

namespace muster::v1 {
class ExplainStepResponse;
class ExplainVariableResponse;
}  // namespace muster::v1

namespace muster::controller {

// The input of both explanations. All references must outlive the call.
struct ExplainInput {
  const Inventory& inventory;
  const FactsByNode& facts;
  std::string node;
  std::map<std::string, nlohmann::ordered_json> extra_vars;
  // The existing secrets, by name: the roles that may read them (see CheckReader).
  std::map<std::string, std::string> secrets;
  ControllerOffer offer = {};
};

// `playbook` may be nullptr: then only the inventory and the command line define variables. `role`
// may be empty. NotFound, with the nearest known one, for an unknown node, variable or role.
absl::StatusOr<v1::ExplainVariableResponse> ExplainVariable(const ExplainInput& input,
                                                            const Playbook* playbook,
                                                            absl::string_view role,
                                                            absl::string_view name);

// The steps of the node's plans that `name` names: "role/task", or a task's name alone. Results are
// not filled in. NotFound, with the nearest known one; otherwise the errors of compiling.
absl::StatusOr<v1::ExplainStepResponse> ExplainStep(const ExplainInput& input,
                                                    const Playbook& playbook,
                                                    absl::string_view name);

}  // namespace muster::controller
