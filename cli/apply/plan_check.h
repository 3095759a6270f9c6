// Makes plans by checking the nodes.
#pragma once

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/context.h"
#include "muster/v1/plan_file.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {

class Connection;
class PlanFolder;

// The findings of a check run.
struct CheckedPlan {
  int exit_code = kExitClean;  // the run's, with kExitChanges; kExitDetached: there is no plan
  v1::Run run;
  v1::PlanFile plan;  // plays and left_out
};

// Starts the check run and waits for its end, as WatchRun() does, but shows only its progress.
// REQUIRES: request.check_only().
absl::StatusOr<CheckedPlan> CheckNodes(Context& context, Connection& connection,
                                       const v1::CreateRunRequest& request);

// Adds what the steps of a check run that has ended found on `nodes`; nullptr: on all.
absl::Status AddFindings(Connection& connection, const std::string& run_id,
                         const std::set<std::string>* nodes, PlanFolder& folder);

}  // namespace muster::cli
