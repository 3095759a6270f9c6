#include "controller/health/held_drain.h"

#include <vector>

#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::health {

absl::StatusOr<std::optional<HealthDrainRecord>> FindHeld(Transaction& txn,
                                                          const NodeCondition& key) {
  ASSIGN_OR_RETURN(const std::vector<HealthDrainRecord> drains, txn.health().ListDrains());
  std::optional<HealthDrainRecord> held;
  for (const HealthDrainRecord& drain : drains) {
    if (drain.node_uuid == key.first && drain.condition == key.second &&
        drain.state == HealthDrainRecord::kHeld)
      held = drain;
  }
  return held;
}

}  // namespace muster::controller::health
