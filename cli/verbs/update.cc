// muster update: one playbook over nodes in service, a few at a time, or a move to another stack.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/apply/plan_keep.h"
#include "cli/apply/rollout_start.h"
#include "cli/apply/stack_update.h"
#include "cli/apply/update_options.h"
#include "cli/apply/update_plan.h"
#include "cli/connection.h"
#include "cli/site/site_bundle.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/value/plan_file.h"

namespace muster::cli {
namespace {

absl::StatusOr<int> Update(Context& context, const UpdateOptions& options) {
  if (!options.plan && (!options.keep.file.empty() || options.run.diff))
    return absl::InvalidArgumentError("--out FILE and --diff belong to --plan");
  sys::RealFileSystem files;
  const absl::StatusOr<std::string> text = files.Read(options.run.playbook);
  if (!text.ok() && LooksLikeStack(options.run.playbook)) return UpdateToStack(context, options);
  RETURN_IF_ERROR(RefuseSiteOptions(options));
  if (text.ok() && LooksLikePlanFile(*text)) return UpdateByPlanFile(context, options, *text);
  ASSIGN_OR_RETURN(v1::CreateRolloutRequest request, RequestFor(options));
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackSite(options.run.playbook));
  if (!options.yes && !options.plan)
    RETURN_IF_ERROR(RequireTerminal("--plan to see what would happen"));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RETURN_IF_ERROR(UploadBundle(*connection, bundle));
  request.set_bundle_sha256(bundle.sha256);
  request.set_playbook(bundle.playbook);
  if (options.plan) return PlanUpdate(context, *connection, options, request);
  RETURN_IF_ERROR(AskToUpdate(context, *connection, request, options.yes, options.detach));
  return StartRollout(context, *connection, request, options.detach);
}

}  // namespace

void AddUpdate(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "update", "Apply a playbook to nodes in service, a few at a time, or move them to a stack");
  auto options = std::make_shared<UpdateOptions>();
  AddUpdateOptions(*command, *options);
  AddPlanFileOptions(*command, context, options->keep, "muster update");
  command->footer(
      "STACK is a file of playbooks/stacks: the variable `stack` of the nodes becomes it in the\n"
      "inventory, here and on the controller, and the site's playbook rolls it out.\n"
      "Each node is drained, updated, tested and resumed by itself; jobs end by themselves.\n"
      "Ctrl-C detaches: the rollout continues, and `muster rollout watch` follows it again.\n"
      "Exit codes: 0 every node is updated, 1 usage or refused, 3 nodes failed or were skipped, "
      "or\n"
      "the rollout was aborted or rolled back, 130 detached; with --plan those of `muster plan`.");
  SetAction(command, context, [&context, options] { return Update(context, *options); });
}

}  // namespace muster::cli
