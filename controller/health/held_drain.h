// What the store says of a drain now, for those who decided about it some time ago.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "controller/health/decision.h"

namespace muster::controller {
class Transaction;
}

namespace muster::controller::health {

// nullopt: the condition does not hold the node any more.
absl::StatusOr<std::optional<HealthDrainRecord>> FindHeld(Transaction& txn,
                                                          const NodeCondition& key);

}  // namespace muster::controller::health
