// Plans by checking the nodes.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/context.h"
#include "muster/v1/plan_file.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {

class Connection;

// "name=value" into the request: JSON where the value reads as JSON, text otherwise.
absl::Status AddExtraVar(const std::string& assignment, v1::CreateRunRequest& request);

// What a check run found.
struct CheckedPlan {
  int exit_code = kExitClean;  // of the run, with kExitChanges; kExitDetached: there is no plan
  v1::Run run;
  v1::PlanFile plan;  // plays and left_out
};

// Starts the check run and waits for its end, as WatchRun() does, but shows no more than where it
// stands. REQUIRES: request.check_only().
absl::StatusOr<CheckedPlan> CheckNodes(Context& context, Connection& connection,
                                       const v1::CreateRunRequest& request);

}  // namespace muster::cli
