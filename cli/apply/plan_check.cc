#include "cli/apply/plan_check.h"

#include "cli/apply/run_start.h"
#include "cli/connection.h"
#include "cli/render/plan/plan_fold.h"
#include "cli/watch/run_ending.h"
#include "common/base/status.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::cli {

using RunStub = v1::RunService::Stub;

absl::Status AddFindings(Connection& connection, const std::string& run_id,
                         const std::set<std::string>* nodes, PlanFolder& folder) {
  RunStub stub(connection.channel());
  v1::ListStepResultsRequest list;
  list.set_run_id(run_id);
  do {
    v1::ListStepResultsResponse page;
    RETURN_IF_ERROR(Call(connection, stub, &RunStub::ListStepResults, list, &page));
    for (const v1::NodeStepResult& result : page.results()) {
      if (nodes == nullptr || nodes->count(result.node()) > 0) folder.Add(result);
    }
    list.set_after_sequence(page.next_after_sequence());
  } while (list.after_sequence() > 0);
  return absl::OkStatus();
}

absl::StatusOr<CheckedPlan> CheckNodes(Context& context, Connection& connection,
                                       const v1::CreateRunRequest& request) {
  CheckedPlan checked;
  ASSIGN_OR_RETURN(const v1::Run created, StartRun(connection, request, IfBusy::kLeaveOut));
  const std::string& run_id = created.run_id();
  ASSIGN_OR_RETURN(
      checked.exit_code,
      WatchRun(context, connection, run_id, {.detailed_exit_code = true, .only_progress = true}));
  if (checked.exit_code == kExitDetached) return checked;

  ASSIGN_OR_RETURN(checked.run, GetDecidedRun(context, connection, run_id));
  PlanFolder folder;
  RETURN_IF_ERROR(AddFindings(connection, run_id, /*nodes=*/nullptr, folder));
  checked.plan = folder.Finish(checked.run);
  return checked;
}

}  // namespace muster::cli
