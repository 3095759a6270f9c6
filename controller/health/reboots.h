// The reboots by which conditions are to be ended.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/health/decision.h"
#include "controller/health/tries.h"

namespace muster::controller {
class Store;
class Transaction;
}  // namespace muster::controller

namespace muster::controller::health {

// Both may block for Slurm.
struct RebootWork {
  // Starts the rollout that reboots the node once, when it has no job; the rollout's id.
  std::function<absl::StatusOr<std::string>(const std::string& node, const std::string& reason)>
      start = nullptr;
  // Ends a rollout of start().
  std::function<absl::Status(const std::string& rollout_id, const std::string& reason)> call_off =
      nullptr;
};

// A drain whose node is to be rebooted.
struct DueReboot {
  std::string node;  // its name
  HealthDrainRecord drain;
};

// What has become of a reboot's rollout, by its rows.
absl::StatusOr<RebootProgress> ReadReboot(Transaction& txn, const HealthDrainRecord& drain);

// Starts each reboot once. The drain has said that it is due before this object hears of it, and a
// rollout that an earlier process started for it is taken up, so that neither a crash between the
// two nor a second condition of the same node makes a second reboot. Thread-safe.
class Reboots {
 public:
  // The references must outlive the object; see Remedies about `rows`.
  Reboots(Store& store, absl::Mutex& rows, RebootWork work)
      : store_(store), rows_(rows), work_(std::move(work)) {}

  // Starts the reboot if it is still due, and stores that it is running.
  void Start(const DueReboot& due, absl::Time now);
  // Nobody wants the reboot any more.
  void CallOff(const std::string& rollout_id);
  // Why the reboot was not begun, for people; "": it was, or nothing was tried yet.
  std::string WaitsFor(const NodeCondition& key) const { return tries_.WaitsFor(key); }

 private:
  absl::StatusOr<std::string> Begin(const DueReboot& due, absl::Time now);
  // Stores that the rollout does it. Aborted: the reboot is not due any more.
  absl::Status StoreBegun(const DueReboot& due, const std::string& id, absl::Time now);
  // The rollout of an earlier start; "": there is none.
  absl::StatusOr<std::string> FindStarted(Transaction& txn, const DueReboot& due);

  Store& store_;
  absl::Mutex& rows_;
  const RebootWork work_;
  Tries tries_;
};

}  // namespace muster::controller::health
