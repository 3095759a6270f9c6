#include "controller/validation/engine/validation_records.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/validation/engine/active_validation.h"
#include "controller/validation/judge/judge_validation.h"
#include "controller/validation/verdict/verdict.h"

namespace muster::controller::validation {

ValidationCheckRecord ToRecord(const ActiveValidation& validation, const CheckPart& part) {
  ValidationCheckRecord record;
  record.check_id = part.check_id;
  record.validation_id = validation.record.validation_id;
  record.execution_id = part.execution_id;
  record.node = part.node;
  // For a group check, each member's row would hold all of its nodes.
  if (part.members->size() <= 2) record.members = absl::StrJoin(*part.members, " ");
  record.rank = part.rank;
  record.stage = static_cast<uint32_t>(part.stage);
  record.stage_check = static_cast<uint32_t>(part.check);
  record.stage_name = validation.state.StageOf(part).name;
  record.name = std::string(validation.state.CheckOf(part).spec->name);
  record.phase = static_cast<int>(part.phase);
  record.outcome = static_cast<int>(part.outcome);
  record.reason = part.reason;
  // While it is running: whether it will be put back, unless it ends by itself.
  record.put_back = part.put_back || (part.phase == PartPhase::kStarted && part.saves_power);
  if (part.started_at != absl::InfinitePast()) record.started_at = part.started_at;
  record.parameters_digest = validation.ParametersDigestOf(part);
  return record;
}

CheckPart ToPart(const ValidationCheckRecord& record) {
  CheckPart part;
  part.check_id = record.check_id;
  part.execution_id = record.execution_id;
  part.node = record.node;
  part.members = std::make_shared<const std::vector<std::string>>();
  part.rank = record.rank;
  part.stage = record.stage;
  part.check = record.stage_check;
  part.phase = static_cast<PartPhase>(record.phase);
  part.outcome = static_cast<PartOutcome>(record.outcome);
  part.reason = record.reason;
  (part.phase == PartPhase::kEnded ? part.put_back : part.saves_power) = record.put_back;
  part.started_at = record.started_at.value_or(absl::InfinitePast());
  return part;
}

v1::Validation ToProto(const ValidationRecord& record) {
  v1::Validation validation;
  validation.ParseFromString(record.blames);
  validation.set_validation_id(record.validation_id);
  validation.set_suite(record.suite);
  validation.set_suite_digest(record.suite_digest);
  validation.set_state(static_cast<v1::ValidationState>(record.state));
  validation.set_created_by(record.created_by);
  *validation.mutable_created_at() = ToTimestamp(record.created_at);
  if (record.finished_at.has_value()) {
    *validation.mutable_finished_at() = ToTimestamp(*record.finished_at);
  }
  return validation;
}

v1::Validation ToProto(const ValidationRecord& record,
                       const std::vector<ValidationNodeRecord>& nodes, bool with_checks) {
  v1::Validation validation = ToProto(record);
  for (const ValidationNodeRecord& row : nodes) {
    v1::NodeVerdict& node = *validation.add_nodes();
    node.ParseFromString(row.verdict);
    node.set_node(row.node);
    node.set_outcome(static_cast<v1::Outcome>(row.outcome));
    node.set_is_witness(row.is_witness);
    if (!with_checks) node.clear_checks();
  }
  return validation;
}

v1::CheckVerdict VerdictOf(const ActiveValidation& validation, const CheckPart& part) {
  v1::CheckVerdict verdict;
  const auto judged = validation.verdicts.find(part.check_id);
  if (part.reason.empty() && judged != validation.verdicts.end()) {
    verdict = judged->second;
  } else {
    verdict = VerdictWithoutResult(validation.state.CheckOf(part).spec->name,
                                   ToOutcome(part.outcome), part.reason);
  }
  verdict.set_stage(validation.state.StageOf(part).name);
  verdict.set_partner(std::string(part.Partner()));
  return verdict;
}

v1::Validation ToProto(const ActiveValidation& active) {
  v1::Validation validation = ToProto(active.record);
  std::map<std::string, v1::NodeVerdict*> nodes;
  for (const ValidationNode& node : active.state.nodes()) {
    v1::NodeVerdict& verdict = *validation.add_nodes();
    verdict.set_node(node.name);
    verdict.set_is_witness(node.is_witness);
    nodes[node.name] = &verdict;
  }
  for (const auto& [check_id, judged] : active.verdicts) {
    const CheckPart* part = active.state.Find(check_id);
    if (part == nullptr || part->put_back || part->phase != PartPhase::kEnded) continue;
    *nodes.at(part->node)->add_checks() = VerdictOf(active, *part);
  }
  for (auto& [name, node] : nodes) LeaveOutPassedPairs(*node);
  return validation;
}

absl::Status PutWaiting(Transaction& txn, const RunValidationRecord& row) {
  ASSIGN_OR_RETURN(const auto rows, txn.run_validations().List(row.run_id));
  for (const RunValidationRecord& stored : rows) {
    if (stored.position != row.position) continue;
    if (stored.state == RunValidationRecord::kWaiting) return txn.run_validations().Put(row);
  }
  return absl::CancelledError(
      absl::StrCat("suite ", row.suite, " after run ", row.run_id, " is no longer waiting"));
}

}  // namespace muster::controller::validation
