#include "controller/run/run_history.h"

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/run/run_records.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {

v1::RunEvent StepEvent(const StepResultRecord& result) {
  v1::RunEvent event;
  event.set_sequence(result.sequence);
  *event.mutable_time() = ToTimestamp(result.time);
  event.set_node(result.node);
  event.mutable_step()->ParseFromString(result.result);
  return event;
}

absl::StatusOr<std::shared_ptr<RunEventLog>> LogOfEndedRun(Store& store,
                                                           const std::string& run_id) {
  RunRecord record;
  std::vector<RunNodeRecord> nodes;
  std::vector<StepResultRecord> results;
  std::vector<RunValidationRecord> validations;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(record, txn.runs().Get(run_id));
    ASSIGN_OR_RETURN(nodes, txn.runs().ListNodes(run_id));
    ASSIGN_OR_RETURN(validations, txn.run_validations().List(run_id));
    ASSIGN_OR_RETURN(results, txn.step_results().ListNewest(run_id, RunEventLog::kMaxKept,
                                                            RunEventLog::kMaxKeptBytes));
    return absl::OkStatus();
  }));
  auto log = std::make_shared<RunEventLog>(results.empty() ? 0 : results.back().sequence);
  for (const StepResultRecord& result : results) log->Append(StepEvent(result));
  for (const RunNodeRecord& node : nodes) {
    v1::RunEvent event;
    event.set_node(node.node);
    FillRecap(node, *event.mutable_node_finished());
    log->Append(std::move(event));
  }
  v1::RunEvent end;
  *end.mutable_run_finished() = ToProto(record, nodes);
  FillValidations(validations, *end.mutable_run_finished());
  log->Append(std::move(end));
  log->End();
  return log;
}

}  // namespace muster::controller
