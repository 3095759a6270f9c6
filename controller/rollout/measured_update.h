// How long updates of nodes took earlier.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {
class Transaction;
}

namespace muster::controller::rollout {

struct MeasuredUpdate {
  std::string rollout_id;
  absl::Duration longest;  // of its nodes: from idle to given back
};

// In the newest rollout of the playbook that changed and completed a node. nullopt: there is none
// among the newest rollouts.
absl::StatusOr<std::optional<MeasuredUpdate>> MeasureUpdate(Transaction& txn,
                                                            absl::string_view playbook);

}  // namespace muster::controller::rollout
