#include "cli/apply/plan_hold.h"

#include <iostream>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/render/output.h"
#include "cli/render/plan/plan_compare.h"
#include "cli/render/plan/plan_report.h"
#include "cli/site/site_bundle.h"
#include "common/base/digest.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/sys/archive/archive.h"
#include "common/value/plan_file.h"

namespace muster::cli {
namespace {

constexpr size_t kDifferencesShown = 20;

}  // namespace

absl::StatusOr<std::string> UploadPlanFile(const Connection& connection, const std::string& text) {
  SiteBundle bundle;
  ASSIGN_OR_RETURN(bundle.archive, sys::PackTarGz({{kPlanFileName, text}}));
  bundle.sha256 = Sha256Hex(bundle.archive);
  RETURN_IF_ERROR(UploadBundle(connection, bundle));
  return bundle.sha256;
}

void IntroducePlan(const v1::PlanFile& plan, absl::Time now) {
  std::cout << "plan of " << plan.playbook() << " for cluster " << plan.cluster() << ", made by "
            << plan.created_by() << " " << HumanTime(ToTime(plan.created_at()), now) << ", expires "
            << HumanTime(ToTime(plan.expires_at()), now) << "\n\n"
            << RenderPlan(plan) << "\n";
}

absl::StatusOr<CheckedPlan> CheckPlanHolds(Context& context, Connection& connection,
                                           const v1::PlanFile& plan, v1::CreateRunRequest request) {
  request.set_check_only(true);
  request.set_skip_validation(true);  // what nodes have passed is not part of the comparison
  request.set_want_diff(plan.want_diff());
  if (context.output == OutputFormat::kTable)
    std::cout << "checking that the plan still holds" << std::endl;
  ASSIGN_OR_RETURN(CheckedPlan fresh, CheckNodes(context, connection, request));
  if (fresh.exit_code == kExitDetached) return fresh;
  std::set<std::string> nodes;
  for (const v1::NodeRecap& node : fresh.run.nodes()) nodes.insert(node.node());
  ASSIGN_OR_RETURN(const std::vector<PlanDifference> differences,
                   ComparePlans(plan, fresh.plan, nodes));
  if (differences.empty()) return fresh;
  return absl::FailedPreconditionError(
      absl::StrCat("the plan no longer holds; nothing was applied:\n",
                   RenderDifferences(differences, kDifferencesShown), "make a new plan: ",
                   plan.has_rollout() ? absl::StrCat("muster update ", plan.playbook(), " --plan")
                                      : absl::StrCat("muster plan ", plan.playbook()),
                   ", or inspect the check: muster run show ", fresh.run.run_id(), " --steps"));
}

}  // namespace muster::cli
