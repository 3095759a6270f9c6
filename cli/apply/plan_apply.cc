#include "cli/apply/plan_apply.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "cli/apply/apply_question.h"
#include "cli/apply/plan_check.h"
#include "cli/apply/plan_hold.h"
#include "cli/apply/run_start.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/plan/plan_report.h"
#include "cli/watch/run_ending.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/value/plan_file.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::cli {

absl::StatusOr<int> ApplyPlanFile(Context& context, const PlanApplyOptions& options,
                                  const std::string& text) {
  absl::StatusOr<v1::PlanFile> plan = ReadPlanFile(text);
  if (!plan.ok()) return Annotate(plan.status(), options.path);
  if (plan->has_rollout()) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.path, " is a plan of `muster update`, which drains nodes first: muster update ",
        options.path));
  }
  const bool talks = context.output == OutputFormat::kTable;
  if (talks) IntroducePlan(*plan, context.clock->Now());
  if (!options.yes && !options.check)
    RETURN_IF_ERROR(RequireTerminal("--check to see whether the plan still holds"));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::CreateRunRequest request;
  ASSIGN_OR_RETURN(*request.mutable_plan_sha256(), UploadPlanFile(*connection, text));
  request.set_limit(options.limit);
  if (!options.yes && !options.check) {
    RETURN_IF_ERROR(AskToApply(*connection, "this plan", request, plan->reboot_with_jobs()));
  }
  ASSIGN_OR_RETURN(const CheckedPlan fresh, CheckPlanHolds(context, *connection, *plan, request));
  if (fresh.exit_code == kExitDetached) return kExitDetached;
  if (options.check) {
    if (talks) std::cout << "the plan holds: it can be applied unchanged\n";
    const int code =
        options.watch.detailed_exit_code && HasChanges(*plan) ? kExitChanges : kExitClean;
    return ExitCodeWithLeftOut(code, fresh.run);
  }
  request.set_skip_validation(options.skip_validation);
  request.set_want_diff(options.diff);
  ASSIGN_OR_RETURN(const v1::Run run,
                   StartRun(*connection, request, options.yes ? IfBusy::kLeaveOut : IfBusy::kAsk));
  if (options.detach) {
    std::cout << run.run_id() << "\n";
    return ExitCodeWithLeftOut(kExitClean, run);
  }
  WatchOptions watch = options.watch;
  watch.values = options.diff;
  return WatchRunAndEndings(context, *connection, run.run_id(), watch);
}

}  // namespace muster::cli
