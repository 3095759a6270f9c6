#include "controller/validation/engine/validation_salvage.h"

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "controller/gate/job_gate.h"
#include "controller/store/store.h"
#include "controller/validation/engine/validation_end.h"
#include "controller/validation/engine/validation_records.h"
#include "controller/validation/judge/comparisons.h"
#include "controller/validation/schedule/validation_state.h"
#include "controller/validation/suite/found_hardware.h"
#include "controller/validation/verdict/verdict.h"

namespace muster::controller::validation {
namespace {

CheckPart PartOf(const ValidationCheckRecord& row) {
  CheckPart part = ToPart(row);
  part.members = std::make_shared<const std::vector<std::string>>(
      absl::StrSplit(row.members, ' ', absl::SkipEmpty()));
  return part;
}

// The verdict from when the check's report came: the suite and its limits are lost.
absl::StatusOr<v1::CheckVerdict> VerdictOfThen(Transaction& txn, const ValidationCheckRecord& row,
                                               const CheckPart& part) {
  const v1::Outcome outcome = ToOutcome(part.outcome);
  v1::CheckVerdict verdict = VerdictWithoutResult(row.name, outcome, row.reason);
  if (row.reason.empty()) {
    const absl::StatusOr<CheckResultRecord> record =
        txn.validation_checks().GetResult(row.check_id);
    if (!record.ok() && !absl::IsNotFound(record.status())) return record.status();
    if (record.ok() && !record->verdict.empty()) verdict.ParseFromString(record->verdict);
  }
  verdict.set_outcome(outcome);
  verdict.set_stage(row.stage_name);
  verdict.set_partner(std::string(part.Partner()));
  if (!verdict.partner().empty() && outcome == v1::OUTCOME_FAIL) {
    verdict.set_outcome(v1::OUTCOME_UNKNOWN);
    verdict.set_reason("slow or broken between the two; the cause can no longer be determined");
  }
  return verdict;
}

}  // namespace

absl::Status FinishStored(Store& store, JobGate* gate, ValidationRecord record, absl::Time now) {
  EndedValidation ended;
  ended.suite = record.suite;
  ended.complete = false;
  std::list<CheckPart> parts;
  std::vector<EndedCheck> checks;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto nodes, txn.validations().ListNodes(record.validation_id));
    for (const ValidationNodeRecord& node : nodes) {
      ended.nodes.push_back(
          {node.node, node.node_uuid, node.is_witness, std::nullopt, std::nullopt});
    }
    ASSIGN_OR_RETURN(const auto rows, txn.validation_checks().List(record.validation_id));
    for (const ValidationCheckRecord& row : rows) {
      if (row.phase != static_cast<int>(PartPhase::kEnded) || row.put_back) continue;
      EndedCheck& check = checks.emplace_back();
      check.part = &parts.emplace_back(PartOf(row));
      check.stage = row.stage_name;
      ASSIGN_OR_RETURN(check.verdict, VerdictOfThen(txn, row, *check.part));
    }
    return absl::OkStatus();
  }));
  Comparisons nothing({});
  ValidationEnd end(std::move(record), std::move(ended), std::move(checks), nothing,
                    /*admits=*/false);
  RETURN_IF_ERROR(end.Store(store, now));
  if (gate != nullptr) end.TellGate(*gate);
  return absl::OkStatus();
}

}  // namespace muster::controller::validation
