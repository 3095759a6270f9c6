// The end of a validation: its verdicts, what is stored of them, and whom they admit.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "controller/store/tables.h"
#include "controller/validation/judge/judge_validation.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller {
class Store;
class Transaction;
}  // namespace muster::controller

namespace muster::controller::validation {

class JobGate;

// Judges once, and is stored until that succeeds. Not thread-safe.
class ValidationEnd {
 public:
  // `record` is that of the running validation; its message says why it was cancelled. `admits`: a
  // node that passes the suite may work. The parts of `checks` must outlive the object.
  ValidationEnd(ValidationRecord record, EndedValidation ended, std::vector<EndedCheck> checks,
                Comparisons& comparisons, bool admits);

  // One transaction; after an error it may be called again.
  absl::Status Store(controller::Store& store, absl::Time now);
  // After Store().
  void TellGate(JobGate& gate) const;
  const ValidationRecord& record() const { return record_; }
  v1::Validation ToProto() const;

 private:
  absl::Status PutNode(Transaction& txn, const EndedNode& node, const v1::NodeVerdict& verdict,
                       absl::Time now) const;

  ValidationRecord record_;
  const EndedValidation ended_;
  const ValidationVerdicts verdicts_;
  const bool admits_;
};

}  // namespace muster::controller::validation
