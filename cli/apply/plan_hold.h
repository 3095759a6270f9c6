// Plan files on their way to the controller: what they say, and whether that is still so.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/apply/plan_check.h"
#include "cli/context.h"

namespace muster::cli {

// Uploads the file, whose content is `text`; the digest that requests name it by.
absl::StatusOr<std::string> UploadPlanFile(const Connection& connection, const std::string& text);

// Prints who made the plan, when, and what it changes.
void IntroducePlan(const v1::PlanFile& plan, absl::Time now);

// Checks the nodes of the plan, those within `request.limit` if it is set, with the plan file that
// `request` names; shows progress as CheckNodes() does. FailedPrecondition names what differs from
// the plan. An exit code of kExitDetached: nothing was compared.
absl::StatusOr<CheckedPlan> CheckPlanHolds(Context& context, Connection& connection,
                                           const v1::PlanFile& plan, v1::CreateRunRequest request);

}  // namespace muster::cli
