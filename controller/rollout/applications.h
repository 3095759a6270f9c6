// What was applied whole: by rollouts, and by runs over everything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {
class Transaction;
}

namespace muster::controller::rollout {

// A rollout that completed or a run that succeeded, of a playbook without tags.
struct Application {
  std::string id;
  bool is_rollout = false;
  std::string bundle;
  std::string limit;
  bool has_variables = false;  // -e, or another stack for some nodes than the inventory's
  uint64_t inventory_revision = 0;
  std::string created_by;
  absl::Time created_at;
  absl::Time finished_at;
};

// Those of the playbook, the one that ended last first: among the newest rollouts, and among
// the newest runs that apply it to nodes that somebody chose: neither those of single nodes of
// rollouts nor catch-ups.
absl::StatusOr<std::vector<Application>> ReadApplications(Transaction& txn,
                                                          absl::string_view playbook);

}  // namespace muster::controller::rollout
