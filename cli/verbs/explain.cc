// muster explain: shows where a value comes from, and why a step is as it is.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/apply/run_options.h"
#include "cli/connection.h"
#include "cli/render/plan/explain_report.h"
#include "cli/render/show.h"
#include "cli/site/site_bundle.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "muster/v1/explain.grpc.pb.h"

namespace muster::cli {
namespace {

using ExplainStub = v1::ExplainService::Stub;

struct ExplainOptions {
  std::string name, node, playbook, role;
  std::vector<std::string> extra_vars;
};

// Fills in the site and the variables, for either request.
template <typename Request>
absl::Status Fill(const Connection& connection, const ExplainOptions& options, Request& request) {
  request.set_node(options.node);
  v1::CreateRunRequest variables;
  for (const std::string& assignment : options.extra_vars)
    RETURN_IF_ERROR(AddExtraVar(assignment, variables));
  *request.mutable_extra_vars() = variables.extra_vars();
  if (options.playbook.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackSite(options.playbook));
  RETURN_IF_ERROR(UploadBundle(connection, bundle));
  request.set_bundle_sha256(bundle.sha256);
  request.set_playbook(bundle.playbook);
  return absl::OkStatus();
}

absl::StatusOr<int> Variable(Context& context, const ExplainOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::ExplainVariableRequest request;
  request.set_name(options.name);
  request.set_role(options.role);
  RETURN_IF_ERROR(Fill(*connection, options, request));
  ExplainStub stub(connection->channel());
  v1::ExplainVariableResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &ExplainStub::ExplainVariable, request, &response));
  Show(context, response, [&] { return RenderVariable(options.name, options.node, response); });
  return kExitClean;
}

absl::StatusOr<int> Step(Context& context, const ExplainOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::ExplainStepRequest request;
  request.set_step(options.name);
  RETURN_IF_ERROR(Fill(*connection, options, request));
  ExplainStub stub(connection->channel());
  v1::ExplainStepResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &ExplainStub::ExplainStep, request, &response));
  Show(context, response, [&] { return RenderExplainedStep(response, context.clock->Now()); });
  return kExitClean;
}

void AddCommonOptions(CLI::App* command, ExplainOptions& options) {
  command->add_option("-n,--node", options.node, "The node to explain it for")
      ->required()
      ->type_name("NODE");
  command->add_option("-e,--extra-vars", options.extra_vars, "name=value, as for apply")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

}  // namespace

void AddExplain(CLI::App& app, Context& context) {
  CLI::App* explain =
      app.add_subcommand("explain", "Explain where a value comes from and what a step does");
  explain->require_subcommand(1);

  CLI::App* variable = explain->add_subcommand(
      "var", "Explain a variable: its value, what sets it, what it overrides");
  auto options = std::make_shared<ExplainOptions>();
  variable->add_option("name", options->name, "The variable, or a part of it such as slurm.port")
      ->required()
      ->type_name("NAME");
  variable
      ->add_option("-p,--playbook,playbook", options->playbook, "Include the defaults of its roles")
      ->type_name("PLAYBOOK");
  variable->add_option("--role", options->role, "Only the defaults of this role of the playbook")
      ->type_name("PLAYBOOK_ROLE");
  AddCommonOptions(variable, *options);
  SetAction(variable, context, [&context, options] { return Variable(context, *options); });

  CLI::App* step =
      explain->add_subcommand("step", "Explain a step: its task, parameters, last result");
  auto step_options = std::make_shared<ExplainOptions>();
  step->add_option("step", step_options->name, "'role/task', or the task's name")
      ->required()
      ->type_name("STEP");
  step_options->playbook = "playbooks/site.yaml";
  step->add_option("-p,--playbook,playbook", step_options->playbook,
                   "The playbook (default playbooks/site.yaml)")
      ->type_name("PLAYBOOK");
  AddCommonOptions(step, *step_options);
  SetAction(step, context, [&context, step_options] { return Step(context, *step_options); });
}

}  // namespace muster::cli
