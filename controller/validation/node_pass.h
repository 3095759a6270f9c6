// Whether a node has passed as what it is now.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace muster::controller {
class Transaction;
}

namespace muster::controller::validation {

// Of the machine with this uuid: whether its pass is of the GPUs, the driver and the kernel that
// its newest facts tell of. NotFound: there is no such machine.
absl::StatusOr<bool> HoldsPass(Transaction& txn, const std::string& node_uuid);

}  // namespace muster::controller::validation
