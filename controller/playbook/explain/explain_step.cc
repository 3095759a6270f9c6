#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compile/node_stack.h"
#include "controller/playbook/compile/scopes.h"
#include "controller/playbook/explain/explain.h"
#include "controller/playbook/explain/explain_secrets.h"
#include "controller/playbook/model.h"
#include "muster/v1/explain.pb.h"
#include "muster/v1/plan.pb.h"

namespace muster::controller {
namespace playbook {
namespace {

constexpr size_t kMaxWrittenLines = 200;

bool Matches(const v1::Step& step, const std::string& role, bool handler, absl::string_view name) {
  const std::string& id = step.step_id();
  return id == name || step.name() == name || absl::StartsWith(id, absl::StrCat(name, ": ")) ||
         absl::StartsWith(id, absl::StrCat(name, "#")) ||
         absl::StartsWith(step.name(), absl::StrCat(name, ": ")) ||
         (handler && absl::StrCat(role, "/", step.name()) == name);
}

const RoleUse* FindUse(const Play& play, const std::string& role) {
  for (const RoleUse& use : play.roles) {
    if (use.role->name == role) return &use;
  }
  return nullptr;
}

const Task* FindTask(const Role& role, const v1::Step& step, bool handler) {
  for (const Task& task : handler ? role.handlers : role.tasks) {
    if (task.source == step.source()) return &task;
  }
  return nullptr;
}

// The task's lines: from its place to the next task in the list.
std::string Written(const Task& task) {
  const std::vector<absl::string_view> lines = absl::StrSplit(task.document.text(), '\n');
  const auto first = static_cast<size_t>(std::max(task.node.mark().line, 1) - 1);
  const auto indent = static_cast<size_t>(std::max(task.node.mark().column, 1) - 1);
  std::vector<std::string> written;
  for (size_t i = first; i < lines.size() && written.size() < kMaxWrittenLines; ++i) {
    const size_t text = lines[i].find_first_not_of(' ');
    if (i > first && text != absl::string_view::npos && text < indent) break;
    const size_t cut = indent >= 2 ? indent - 2 : 0;
    written.emplace_back(lines[i].size() > cut ? lines[i].substr(cut) : absl::string_view());
  }
  while (!written.empty() && written.back().find_first_not_of(' ') == std::string::npos) {
    written.pop_back();
  }
  return absl::StrJoin(written, "\n");
}

void AddConditions(const std::vector<Condition>& conditions, const tmpl::Scope& scope,
                   v1::ExplainedStep& out) {
  for (const Condition& condition : conditions) {
    v1::ExplainedCondition& explained = *out.add_conditions();
    explained.set_text(condition.text);
    const absl::StatusOr<std::string> no = FirstFalse({condition}, scope);
    if (no.ok()) {
      explained.set_value(no->empty() ? "true" : "false");
    } else if (MayRead(condition.expression, "item")) {
      explained.set_value("for each item");
    } else {
      explained.set_value(std::string(no.status().message()));
    }
  }
}

// Explains one play's plan for the node, and selects the steps that are meant.
class PlayExplainer {
 public:
  PlayExplainer(const ExplainInput& input, const Playbook& playbook, size_t index)
      : input_(input),
        playbook_(playbook),
        index_(index),
        secrets_(input.secrets),
        shared_(input.inventory, input.facts, input.extra_vars, input.offer, secrets_,
                playbook.path),
        node_(shared_, *input.inventory.FindNode(input.node)) {}

  absl::Status Explain(absl::string_view name, v1::ExplainStepResponse& response,
                       std::vector<std::string>& known) {
    CompileOptions options;
    options.extra_vars = input_.extra_vars;
    options.offer = input_.offer;
    options.keep_left_out_roles = true;
    std::vector<NodePlan> plans = CompilePlay(playbook_, index_, input_.inventory, input_.facts,
                                              {input_.node}, options, secrets_);
    RETURN_IF_ERROR(plans.at(0).error);
    RETURN_IF_ERROR(SeeStack(*playbook_.stacks, node_).status());
    for (const v1::RolePlan& role : plans[0].plan->roles()) {
      for (const v1::Step& step : role.steps()) Take(role, step, false, name, response, known);
      for (const v1::Step& step : role.handlers()) Take(role, step, true, name, response, known);
    }
    return absl::OkStatus();
  }

 private:
  void Take(const v1::RolePlan& role, const v1::Step& step, bool handler, absl::string_view name,
            v1::ExplainStepResponse& response, std::vector<std::string>& known) {
    known.push_back(step.step_id());
    known.push_back(step.name());
    if (!Matches(step, role.name(), handler, name)) return;
    const Play& play = playbook_.plays[index_];
    v1::ExplainedStep& out = *response.add_steps();
    out.set_play_index(static_cast<uint32_t>(index_));
    out.set_play(play.name);
    *out.mutable_step() = step;
    out.set_handler(handler);
    *out.mutable_role_needs() = role.needs();
    const RoleUse* use = FindUse(play, role.name());
    const Task* task = use == nullptr ? nullptr : FindTask(*use->role, step, handler);
    if (task != nullptr) {
      out.set_written(Written(*task));
      shared_.ReadAs(use->role->name);
      RoleScope scope(node_, *use->role);
      AddConditions(use->when, scope.scope(), out);
      AddConditions(task->when, scope.scope(), out);
    }
    // Decided by the content of the step: the play may name secrets that this step does not use.
    const std::string bytes = step.SerializeAsString();
    for (const auto& [secret, exists] : secrets_.asked()) {
      if (!absl::StrContains(bytes, absl::StrCat("[secret ", secret, "]"))) continue;
      v1::ExplainedSecret& explained = *out.add_secrets();
      explained.set_name(secret);
      explained.set_exists(exists);
    }
  }

  const ExplainInput& input_;
  const Playbook& playbook_;
  const size_t index_;
  NamedSecrets secrets_;
  PlayScope shared_;
  NodeScope node_;
};

}  // namespace
}  // namespace playbook

absl::StatusOr<v1::ExplainStepResponse> ExplainStep(const ExplainInput& input,
                                                    const Playbook& playbook,
                                                    absl::string_view name) {
  if (input.inventory.FindNode(input.node) == nullptr) {
    std::vector<std::string> names;
    for (const Node& node : input.inventory.nodes()) names.push_back(node.name);
    return absl::NotFoundError(
        absl::StrCat("no node '", input.node, "' in the inventory", DidYouMean(input.node, names)));
  }
  v1::ExplainStepResponse response;
  std::vector<std::string> known;
  absl::Status errors;
  bool takes_part = false;
  for (size_t i = 0; i < playbook.plays.size(); ++i) {
    ASSIGN_OR_RETURN(const std::vector<std::string> nodes,
                     SelectPlayNodes(playbook, i, input.inventory, ""));
    if (std::find(nodes.begin(), nodes.end(), input.node) == nodes.end()) continue;
    takes_part = true;
    errors.Update(
        Annotate(playbook::PlayExplainer(input, playbook, i).Explain(name, response, known),
                 absl::StrCat("play ", playbook.plays[i].name, " on ", input.node)));
  }
  if (response.steps_size() > 0) return response;
  RETURN_IF_ERROR(errors);
  if (!takes_part) {
    return absl::NotFoundError(absl::StrCat("no play of the playbook names ", input.node));
  }
  return absl::NotFoundError(absl::StrCat("no step '", name, "' on ", input.node,
                                          DidYouMean(name, known),
                                          "; specify a step as 'role/task'"));
}

}  // namespace muster::controller
