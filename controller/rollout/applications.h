// What was applied whole: by rollouts, and by runs over everything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {
class InventorySource;
class Transaction;
}  // namespace muster::controller

namespace muster::controller::rollout {

// So many revisions of the inventory are read on the way back to an application, from the newest
// on: one of a large site takes a second.
inline constexpr size_t kRevisionsRead = 20;

// A rollout that completed and updated a node, or a run that succeeded, of a playbook without tags.
struct Application {
  std::string id;
  std::string bundle;
  std::string limit;
  // Not a rollout that completed with a reason: too many nodes failed.
  bool has_succeeded = true;
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

// Whether an application with this limit left out none of the nodes that its revision of the
// inventory had, and took one of them at least: nodes join and leave. Blocks for the store, so it
// must not be called inside a transaction.
absl::StatusOr<bool> Covers(InventorySource& inventories, uint64_t revision,
                            const std::string& limit, const std::vector<std::string>& nodes);

}  // namespace muster::controller::rollout
