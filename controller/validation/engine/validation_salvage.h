// The end of a validation that nobody can continue.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "controller/store/tables.h"

namespace muster::controller {
class Store;
}

namespace muster::controller::validation {

class JobGate;

// Ends a validation that is not active, as cancelled, with what is stored of its checks: a fail
// counts, everything else is unknown. `record.message` says why. `gate`: nullptr: there is none at
// work, and the next one reads the store.
absl::Status FinishStored(Store& store, JobGate* gate, ValidationRecord record, absl::Time now);

}  // namespace muster::controller::validation
