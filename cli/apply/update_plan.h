// Plans of updates: made, and carried out.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/apply/update_options.h"
#include "cli/context.h"

namespace muster::cli {

class Connection;

// Shows what `request` would find and change, node by node, and keeps it where a file is asked for;
// starts nothing. The exit code is that of `muster plan`.
absl::StatusOr<int> PlanUpdate(Context& context, Connection& connection,
                               const UpdateOptions& options,
                               const v1::CreateRolloutRequest& request);

// Checks the plan's nodes again and, when they need exactly what the plan says, starts its rollout;
// with options.plan only says whether it still holds. InvalidArgument: the file was damaged or is
// not of an update, or an option contradicts it; FailedPrecondition names what changed. `text` is
// the file's content.
absl::StatusOr<int> UpdateByPlanFile(Context& context, const UpdateOptions& options,
                                     const std::string& text);

}  // namespace muster::cli
