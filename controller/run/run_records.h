// Conversions between a run's rows, its protobuf and its state.
#pragma once

#include <string>
#include <vector>

#include "controller/run/run_state.h"
#include "controller/store/tables.h"

namespace muster::v1 {
class CreateRunRequest;
class NodeRecap;
class Run;
}  // namespace muster::v1

namespace muster::controller {

RunNodeRecord ToRecord(const std::string& run_id, const RunNode& node);
RunNode ToRunNode(const RunNodeRecord& record);

void FillRecap(const RunNodeRecord& record, v1::NodeRecap& recap);
// Includes the recap of `nodes`, which may be empty.
v1::Run ToProto(const RunRecord& record, const std::vector<RunNodeRecord>& nodes);
void FillValidations(const std::vector<RunValidationRecord>& rows, v1::Run& run);
v1::CreateRunRequest RequestOf(const RunRecord& record);
// Whether the run applies everything in its playbook: not a check, and not limited by tags.
bool IsAppliedWhole(const v1::CreateRunRequest& request);

// NodeRecord::last_run_result for a node that ended like this: ok, changed, failed, unreachable; ""
// when it was cancelled.
std::string ResultWord(const RunNode& node);

}  // namespace muster::controller
