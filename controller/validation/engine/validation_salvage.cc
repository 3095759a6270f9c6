// ValidationEngine: the end of a validation that a restarted controller cannot continue.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/gate/job_gate.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/validation_engine.h"
#include "controller/validation/engine/validation_records.h"
#include "controller/validation/verdict/result_blob.h"
#include "controller/validation/verdict/verdict.h"

namespace muster::controller::validation {
namespace {

const checks::CheckSpec* FindSpec(Catalog catalog, const std::string& name) {
  for (const checks::CheckSpec* spec : catalog) {
    if (spec->name == name) return spec;
  }
  return nullptr;
}

std::string PartnerIn(const ValidationCheckRecord& row) {
  const std::vector<std::string> members = absl::StrSplit(row.members, ' ', absl::SkipEmpty());
  if (members.size() != 2) return "";
  return members[0] == row.node ? members[1] : members[0];
}

// The verdict from when the check's report came, without the suite and its limits.
absl::StatusOr<v1::CheckVerdict> StoredVerdict(Transaction& txn, const ValidationCheckRecord& row,
                                               Catalog catalog) {
  v1::Outcome outcome = ToOutcome(static_cast<PartOutcome>(row.outcome));
  v1::CheckVerdict verdict = VerdictWithoutResult(row.name, outcome, row.reason);
  const checks::CheckSpec* spec = FindSpec(catalog, row.name);
  if (row.reason.empty() && spec != nullptr) {
    const absl::StatusOr<CheckResultRecord> record =
        txn.validation_checks().GetResult(row.check_id);
    if (!record.ok() && !absl::IsNotFound(record.status())) return record.status();
    absl::StatusOr<v1::CheckResult> result;
    if (record.ok()) result = UnpackResult(record->result);
    if (record.ok() && result.ok()) verdict = JudgeCheck(*result, *spec, Expectation(), {});
  }
  verdict.set_partner(PartnerIn(row));
  if (!verdict.partner().empty() && outcome == v1::OUTCOME_FAIL) {
    outcome = v1::OUTCOME_UNKNOWN;
    verdict.set_reason("slow or broken between the two; the cause can no longer be determined");
  }
  if (verdict.outcome() != outcome && verdict.reason().empty()) {
    verdict.set_reason("as judged by the limits at that time");
  }
  verdict.set_outcome(outcome);
  verdict.set_stage(row.stage_name);
  return verdict;
}

}  // namespace

absl::Status ValidationEngine::FinishStored(ValidationRecord record) {
  record.state = ValidationRecord::kCancelled;
  record.finished_at = with_.clock.Now();
  std::vector<ValidationNodeRecord> nodes;
  RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(nodes, txn.validations().ListNodes(record.validation_id));
    ASSIGN_OR_RETURN(const auto rows, txn.validation_checks().List(record.validation_id));
    std::map<std::string, v1::NodeVerdict> verdicts;
    for (const ValidationCheckRecord& row : rows) {
      if (row.phase != static_cast<int>(PartPhase::kEnded) || row.put_back) continue;
      ASSIGN_OR_RETURN(*verdicts[row.node].add_checks(), StoredVerdict(txn, row, with_.catalog));
    }
    int failed = 0, unknown = 0;
    for (ValidationNodeRecord& node : nodes) {
      v1::NodeVerdict& verdict = verdicts[node.node];
      verdict.set_node(node.node);
      verdict.set_is_witness(node.is_witness);
      std::vector<const v1::CheckVerdict*> checks;
      for (const v1::CheckVerdict& check : verdict.checks()) checks.push_back(&check);
      if (!node.is_witness) verdict.set_outcome(OutcomeOf(checks, /*complete=*/false));
      LeaveOutPassedPairs(verdict);
      node.outcome = verdict.outcome();
      node.verdict = verdict.SerializeAsString();
      RETURN_IF_ERROR(txn.validations().PutNode(node));
      if (node.outcome != v1::OUTCOME_FAIL) {
        if (!node.is_witness) ++unknown;
        continue;
      }
      ++failed;
      if (node.node_uuid.empty() || !txn.nodes().Get(node.node_uuid).ok()) continue;
      RETURN_IF_ERROR(txn.node_service().RemovePass(node.node_uuid));
    }
    RETURN_IF_ERROR(txn.validations().Put(record));
    return Audit(txn, *record.finished_at, ControllerActor(), "validation.finish",
                 record.validation_id,
                 absl::StrCat(record.message, "; ", failed, " failed, ", unknown, " unknown"));
  }));
  for (const ValidationNodeRecord& node : nodes) {
    if (node.node_uuid.empty() || node.is_witness) continue;
    with_.gate.OnJudged(node.node_uuid, record.validation_id,
                        static_cast<v1::Outcome>(node.outcome));
  }
  return absl::OkStatus();
}

}  // namespace muster::controller::validation
