#include "cli/apply/plan_apply.h"

#include <algorithm>
#include <iostream>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/apply/apply_question.h"
#include "cli/apply/plan_check.h"
#include "cli/apply/run_start.h"
#include "cli/apply/site_bundle.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/plan/plan_compare.h"
#include "cli/render/plan/plan_report.h"
#include "cli/watch/run_ending.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/sys/archive/archive.h"
#include "common/value/plan_file.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::cli {
namespace {

constexpr size_t kDifferencesShown = 20;

absl::StatusOr<std::string> Upload(const Connection& connection, const std::string& text) {
  SiteBundle bundle;
  ASSIGN_OR_RETURN(bundle.archive, sys::PackTarGz({{kPlanFileName, text}}));
  bundle.sha256 = Sha256Hex(bundle.archive);
  RETURN_IF_ERROR(UploadBundle(connection, bundle));
  return bundle.sha256;
}

void Introduce(const v1::PlanFile& plan, absl::Time now) {
  std::cout << "plan of " << plan.playbook() << " for cluster " << plan.cluster() << ", made by "
            << plan.created_by() << " " << HumanTime(ToTime(plan.created_at()), now) << ", expires "
            << HumanTime(ToTime(plan.expires_at()), now) << "\n\n"
            << RenderPlan(plan) << "\n";
}

// Compares the findings of a fresh check with the file.
absl::Status CheckAgain(const v1::PlanFile& plan, const CheckedPlan& fresh) {
  std::set<std::string> nodes;
  for (const v1::NodeRecap& node : fresh.run.nodes()) nodes.insert(node.node());
  ASSIGN_OR_RETURN(const std::vector<PlanDifference> differences,
                   ComparePlans(plan, fresh.plan, nodes));
  if (differences.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the plan no longer holds; nothing was applied:\n",
      RenderDifferences(differences, kDifferencesShown), "make a new plan: muster plan ",
      plan.playbook(), ", or inspect the check: muster run show ", fresh.run.run_id(), " --steps"));
}

}  // namespace

absl::StatusOr<int> ApplyPlanFile(Context& context, const PlanApplyOptions& options,
                                  const std::string& text) {
  absl::StatusOr<v1::PlanFile> plan = ReadPlanFile(text);
  if (!plan.ok()) return Annotate(plan.status(), options.path);
  const bool talks = context.output == OutputFormat::kTable;
  if (talks) Introduce(*plan, context.clock->Now());
  if (!options.yes && !options.check)
    RETURN_IF_ERROR(RequireTerminal("--check to see whether the plan still holds"));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::CreateRunRequest request;
  ASSIGN_OR_RETURN(*request.mutable_plan_sha256(), Upload(*connection, text));
  request.set_limit(options.limit);
  if (!options.yes && !options.check) {
    RETURN_IF_ERROR(AskToApply(*connection, "this plan", request, plan->reboot_with_jobs()));
  }
  request.set_check_only(true);
  request.set_skip_validation(true);  // what nodes have passed is not part of the comparison
  request.set_want_diff(plan->want_diff());
  if (talks) std::cout << "checking that the plan still holds" << std::endl;
  ASSIGN_OR_RETURN(const CheckedPlan fresh, CheckNodes(context, *connection, request));
  if (fresh.exit_code == kExitDetached) return kExitDetached;
  RETURN_IF_ERROR(CheckAgain(*plan, fresh));
  if (options.check) {
    if (talks) std::cout << "the plan holds: it can be applied unchanged\n";
    const int code =
        options.watch.detailed_exit_code && HasChanges(*plan) ? kExitChanges : kExitClean;
    return ExitCodeWithLeftOut(code, fresh.run);
  }
  request.set_check_only(false);
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
