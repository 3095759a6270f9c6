// muster plan: shows what an apply would change, to review or to save and apply later.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/apply/plan_check.h"
#include "cli/apply/plan_keep.h"
#include "cli/apply/run_options.h"
#include "cli/connection.h"
#include "cli/render/plan/plan_report.h"
#include "cli/render/show.h"
#include "cli/site/site_bundle.h"
#include "cli/verbs/verbs.h"
#include "common/base/status.h"

namespace muster::cli {
namespace {

constexpr char kCarriedOutBy[] = "muster apply";

struct PlanOptions {
  RunOptions run;
  PlanFileOptions keep;
};

absl::StatusOr<int> Plan(Context& context, const PlanOptions& options) {
  ASSIGN_OR_RETURN(v1::CreateRunRequest request, RequestFor(options.run));
  request.set_check_only(true);
  ASSIGN_OR_RETURN(const absl::Duration lifetime, LifetimeOf(options.keep));
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackSite(options.run.playbook));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RETURN_IF_ERROR(UploadBundle(*connection, bundle));
  request.set_bundle_sha256(bundle.sha256);
  request.set_playbook(bundle.playbook);
  ASSIGN_OR_RETURN(CheckedPlan checked, CheckNodes(context, *connection, request));
  if (checked.exit_code == kExitDetached) return kExitDetached;
  RETURN_IF_ERROR(DescribePlan(*connection, request, lifetime, checked));
  Show(context, checked.plan, [&] { return RenderPlan(checked.plan); });
  RETURN_IF_ERROR(KeepPlan(context, options.keep, lifetime, kCarriedOutBy, checked.plan));
  return checked.exit_code;
}

}  // namespace

void AddPlan(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("plan", "Show what an apply would change, and keep it");
  auto options = std::make_shared<PlanOptions>();
  command->add_option("playbook", options->run.playbook, "Such as playbooks/site.yaml")
      ->required()
      ->type_name("PLAYBOOK");
  AddSelectionOptions(*command, options->run);
  AddExtraVarsOption(*command, options->run);
  command->add_flag("-D,--diff", options->run.diff, "Also show diffs of files");
  command->add_flag(
      "--reboot-with-jobs", options->run.reboot_with_jobs,
      "When the file is applied, reboot nodes even while Slurm jobs run; the jobs die");
  AddPlanFileOptions(*command, context, options->keep, kCarriedOutBy);
  command->footer(
      "Nothing is changed on the nodes.\n"
      "Exit codes: 0 nothing to do, 1 usage or refused, 2 changes, 3 nodes failed, 4 nodes\n"
      "unreachable, 130 detached.");
  SetAction(command, context, [&context, options] { return Plan(context, *options); });
}

}  // namespace muster::cli
