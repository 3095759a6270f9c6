// Between the rows of the store, the state and the messages of validations.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "controller/validation/schedule/validation_state.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

struct ActiveValidation;

ValidationCheckRecord ToRecord(const ActiveValidation& validation, const CheckPart& part);
// What ValidationState wants of an earlier process.
CheckPart ToPart(const ValidationCheckRecord& record);

PartOutcome ToPartOutcome(v1::Outcome outcome);
v1::Outcome ToOutcome(PartOutcome outcome);

// Without nodes.
v1::Validation ToProto(const ValidationRecord& record);
// With `nodes`, as far as they have verdicts.
v1::Validation ToProto(const ValidationRecord& record,
                       const std::vector<ValidationNodeRecord>& nodes, bool with_checks);
// One that goes on, as it stands.
v1::Validation ToProto(const ActiveValidation& validation);

// Keeps kMaxPassedPairs verdicts of pairs that passed: a node of a large cluster has hundreds,
// which would make an answer too large for a message. Their results are all kept.
inline constexpr int kMaxPassedPairs = 64;
void LeaveOutPassedPairs(v1::NodeVerdict& node);

// What was said of the part: its own reason, or the verdict over its report.
v1::CheckVerdict VerdictOf(const ActiveValidation& validation, const CheckPart& part);

// Replaces the row of a suite that a run ends with. Cancelled: it does not wait any more, since
// somebody has taken it away meanwhile.
absl::Status PutWaiting(Transaction& txn, const RunValidationRecord& row);

}  // namespace muster::controller::validation
