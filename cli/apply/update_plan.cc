#include "cli/apply/update_plan.h"

#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/apply/plan_check.h"
#include "cli/apply/plan_hold.h"
#include "cli/apply/plan_keep.h"
#include "cli/apply/rollout_start.h"
#include "cli/apply/run_start.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "cli/render/plan/plan_report.h"
#include "cli/render/rollout/rollout_forecast.h"
#include "cli/render/show.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/value/plan_file.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {
namespace {

// A plan file has decided everything about the update already.
absl::Status RefuseOptions(const UpdateOptions& options) {
  ASSIGN_OR_RETURN(const v1::CreateRolloutRequest asked, RequestFor(options));
  if (asked.ByteSizeLong() == 0 && !options.run.diff && options.keep.file.empty())
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(options.run.playbook,
                   " is a plan file, which fixes nodes, variables and limits; make a new plan to "
                   "change them (only --plan, --yes and --detach go with it)"));
}

}  // namespace

absl::StatusOr<int> PlanUpdate(Context& context, Connection& connection,
                               const UpdateOptions& options,
                               const v1::CreateRolloutRequest& request) {
  ASSIGN_OR_RETURN(const absl::Duration lifetime, LifetimeOf(options.keep));
  ASSIGN_OR_RETURN(v1::PreviewRolloutResponse preview, PreviewOf(connection, request));
  std::vector<std::string> names;
  for (const v1::RolloutForecast& node : preview.nodes()) names.push_back(node.node());
  v1::CreateRunRequest look;
  look.set_bundle_sha256(request.bundle_sha256());
  look.set_playbook(request.playbook());
  look.set_limit(FoldHostlist(std::move(names)));
  *look.mutable_tags() = request.tags();
  *look.mutable_extra_vars() = request.extra_vars();
  look.set_reboots(request.reboots());
  look.set_check_only(true);
  look.set_skip_validation(true);  // the rollout has its nodes validated itself
  look.set_want_diff(options.run.diff);
  ASSIGN_OR_RETURN(CheckedPlan checked, CheckNodes(context, connection, look));
  if (checked.exit_code == kExitDetached) return kExitDetached;
  RETURN_IF_ERROR(DescribePlan(connection, look, lifetime, checked));
  *checked.plan.mutable_rollout() = std::move(preview);
  // The plan has both already; a map within the request would be written in any order.
  v1::Rollout& rollout = *checked.plan.mutable_rollout()->mutable_rollout();
  rollout.mutable_request()->clear_extra_vars();
  rollout.clear_nodes();
  Show(context, checked.plan, [&] {
    return absl::StrCat(RenderForecast(checked.plan.rollout()), "\n", RenderPlan(checked.plan));
  });
  RETURN_IF_ERROR(KeepPlan(context, options.keep, lifetime, "muster update", checked.plan));
  return checked.exit_code;
}

absl::StatusOr<int> UpdateByPlanFile(Context& context, const UpdateOptions& options,
                                     const std::string& text) {
  const std::string& path = options.run.playbook;
  const absl::StatusOr<v1::PlanFile> plan = ReadPlanFile(text);
  if (!plan.ok()) return Annotate(plan.status(), path);
  if (!plan->has_rollout()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a plan of `muster plan`: muster apply ", path));
  }
  RETURN_IF_ERROR(RefuseOptions(options));
  const bool talks = context.output == OutputFormat::kTable && !options.detach;
  if (talks) IntroducePlan(*plan, context.clock->Now());
  const bool asks = !options.yes && !options.plan;
  if (asks) RETURN_IF_ERROR(RequireTerminal("--plan to see whether the plan still holds"));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::CreateRolloutRequest request;
  ASSIGN_OR_RETURN(*request.mutable_plan_sha256(), UploadPlanFile(*connection, text));
  ASSIGN_OR_RETURN(const v1::PreviewRolloutResponse preview, PreviewOf(*connection, request));
  if (talks) std::cout << Tame(RenderForecast(preview)) << "\n" << std::flush;
  if (asks) RETURN_IF_ERROR(AskOrRefuse(UpdateQuestion(preview), "nothing was started"));
  v1::CreateRunRequest look;
  look.set_plan_sha256(request.plan_sha256());
  ASSIGN_OR_RETURN(const CheckedPlan fresh, CheckPlanHolds(context, *connection, *plan, look));
  if (fresh.exit_code == kExitDetached) return kExitDetached;
  if (!options.plan) return StartRollout(context, *connection, request, options.detach);
  if (talks) std::cout << "the plan holds: the update can be made unchanged\n";
  return ExitCodeWithLeftOut(kExitClean, fresh.run);
}

}  // namespace muster::cli
