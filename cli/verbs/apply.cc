// muster apply: one playbook over many nodes.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/apply/apply_question.h"
#include "cli/apply/plan_apply.h"
#include "cli/apply/run_options.h"
#include "cli/apply/run_start.h"
#include "cli/connection.h"
#include "cli/site/site_bundle.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/run_ending.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/value/plan_file.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::cli {
namespace {

struct ApplyOptions {
  RunOptions run;
  bool check = false, yes = false, detach = false, skip_validation = false;
  WatchOptions watch;
};

// A plan file has decided these options already; they cannot be given again.
absl::StatusOr<int> ApplyFile(Context& context, const ApplyOptions& options,
                              const std::string& text) {
  if (!options.run.tags.empty() || !options.run.extra_vars.empty() || options.run.reboot_with_jobs)
    return absl::InvalidArgumentError(
        absl::StrCat(options.run.playbook,
                     " is a plan file, which fixes tags, variables and whether nodes may reboot "
                     "with jobs; make a new plan to change them"));
  return ApplyPlanFile(context,
                       {.path = options.run.playbook,
                        .limit = options.run.limit,
                        .check = options.check,
                        .diff = options.run.diff,
                        .yes = options.yes,
                        .detach = options.detach,
                        .skip_validation = options.skip_validation,
                        .watch = options.watch},
                       text);
}

absl::StatusOr<int> Apply(Context& context, const ApplyOptions& options) {
  sys::RealFileSystem files;
  const absl::StatusOr<std::string> text = files.Read(options.run.playbook);
  if (text.ok() && LooksLikePlanFile(*text)) return ApplyFile(context, options, *text);
  ASSIGN_OR_RETURN(v1::CreateRunRequest request, RequestFor(options.run));
  request.set_check_only(options.check);
  request.set_skip_validation(options.skip_validation);
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackSite(options.run.playbook));
  if (!options.yes && !options.check) RETURN_IF_ERROR(RequireTerminal("--check to change nothing"));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RETURN_IF_ERROR(UploadBundle(*connection, bundle));
  request.set_bundle_sha256(bundle.sha256);
  request.set_playbook(bundle.playbook);
  if (!options.yes && !options.check)
    RETURN_IF_ERROR(
        AskToApply(*connection, options.run.playbook, request, options.run.reboot_with_jobs));
  ASSIGN_OR_RETURN(const v1::Run run,
                   StartRun(*connection, request,
                            options.yes || options.check ? IfBusy::kLeaveOut : IfBusy::kAsk));
  if (options.detach) {
    std::cout << run.run_id() << "\n";
    return ExitCodeWithLeftOut(kExitClean, run);
  }
  WatchOptions watch = options.watch;
  watch.values = options.run.diff;
  return WatchRunAndEndings(context, *connection, run.run_id(), watch);
}

}  // namespace

void AddApply(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("apply", "Apply a playbook to the nodes it names, or a plan file");
  auto options = std::make_shared<ApplyOptions>();
  command
      ->add_option("playbook", options->run.playbook,
                   "Such as playbooks/site.yaml; or a file that `muster plan -o` wrote")
      ->required()
      ->type_name("PLAYBOOK|FILE");
  AddSelectionOptions(*command, options->run);
  command->add_flag("-C,--check", options->check, "Change nothing; show what would change");
  command->add_flag("-D,--diff", options->run.diff,
                    "Show what changes: diffs of files, values of everything else");
  AddExtraVarsOption(*command, options->run);
  command->add_flag("--reboot-with-jobs", options->run.reboot_with_jobs,
                    "Reboot nodes even while Slurm jobs run on them; the jobs die");
  command->add_flag("--skip-validation", options->skip_validation,
                    "Skip the plays with `validate`");
  command->add_flag("-y,--yes", options->yes, "Do not ask");
  command->add_flag("-d,--detach", options->detach, "Print the run's id and do not wait");
  command->add_flag("-v,--verbose", options->watch.verbose,
                    "Also show steps that were ok or skipped");
  command->add_flag("--detailed-exitcode", options->watch.detailed_exit_code,
                    "Exit with 2 when something changed");
  command->footer(
      "Ctrl-C detaches: the run continues, and `muster run watch` follows it again.\n"
      "Exit codes: 0 clean, 1 usage or refused, or a node failed its validation, 2 changes\n"
      "(--detailed-exitcode), or not all nodes are known to have passed, 3 nodes failed, 4 nodes\n"
      "unreachable, or left out because other work holds them, 130 detached.");
  SetAction(command, context, [&context, options] { return Apply(context, *options); });
}

}  // namespace muster::cli
