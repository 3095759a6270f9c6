// Conversions between the rows of the store, the state and the messages of validations.
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
// The part as ValidationState wants it after a restart.
CheckPart ToPart(const ValidationCheckRecord& record);

// Omits the nodes.
v1::Validation ToProto(const ValidationRecord& record);
// Includes `nodes`, as far as they have verdicts.
v1::Validation ToProto(const ValidationRecord& record,
                       const std::vector<ValidationNodeRecord>& nodes, bool with_checks);
// The present state of an active validation.
v1::Validation ToProto(const ActiveValidation& validation);

// The verdict on the part: its own reason, or the verdict on its report.
v1::CheckVerdict VerdictOf(const ActiveValidation& validation, const CheckPart& part);

// Replaces the row of a suite that a run ends with. Cancelled: it is not waiting any more, because
// somebody has cancelled it meanwhile.
absl::Status PutWaiting(Transaction& txn, const RunValidationRecord& row);

}  // namespace muster::controller::validation
