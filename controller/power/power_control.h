// Orders to BMCs, many at once, and those who watch them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/base/worker.h"
#include "controller/audit/audit.h"
#include "controller/feed/event_feed.h"
#include "controller/inventory/bmc_access.h"
#include "controller/power/bmc.h"
#include "controller/power/power_pace.h"
#include "controller/power/power_steps.h"
#include "controller/power/power_targets.h"
#include "controller/secret/secret_buffer.h"

namespace muster::v1 {
class PowerEvent;
}

namespace muster::controller {
class NodeClaims;
class SecretSource;
class Store;
}  // namespace muster::controller
namespace muster::controller::slurm {
class SlurmControl;
}

namespace muster::controller::power {

// An order for many machines.
struct PowerAction {
  PowerOrder order;
  std::vector<PowerTarget> targets;  // at least one
  bool force = false;                // whatever Slurm says
  std::string run_id;                // whose nodes they are; "": nobody's, and they are claimed
  std::string reason;                // for the audit log
};

using PowerWatch = EventWatch<v1::PowerEvent>;

// What outlives a PowerControl.
struct PowerCollaborators {
  Store& store;
  Clock& clock;
  SecretSource& secrets;  // asked as the reader "power"
  NodeClaims& claims;
  slurm::SlurmControl& slurm;
  std::function<std::unique_ptr<Bmc>(const BmcAccess&, SecretBuffer password, Cancelled)> open_bmc;
  // The BMC of the node has taken an order by which the machine boots. Does not block.
  std::function<void(const std::string& node)> on_boot = [](const std::string&) {};
  std::function<void(absl::string_view)> warn;  // writes to the log
  size_t threads = 32;                          // so many BMCs are spoken to at once
  PowerPatience patience = {};
};

// An order that changes something is in the audit log before any BMC has it, and once more when it
// has ended. Machines that lose their power are claimed meanwhile, so that no run, validation or
// rollout has them at the same time. An order lives as long as its watch, except that machines
// that were begun are finished. Thread-safe.
class PowerControl {
 public:
  explicit PowerControl(PowerCollaborators with);
  ~PowerControl();

  void Start();
  // Breaks all watches and lets go of what has not begun; none begins afterwards.
  void EndWatches();
  // The same, and waits until what has begun is finished, in a hurry.
  void Stop();

  // `on_ready` as of EventFeed::Watch(). FailedPrecondition: somebody works on one of the nodes.
  // Unavailable: the store does not answer, and nothing begins. Does not wait for a BMC or Slurm.
  absl::StatusOr<std::shared_ptr<PowerWatch>> Begin(PowerAction action, const Actor& actor,
                                                    std::function<void()> on_ready);

 private:
  class Execution;
  struct Task {
    std::shared_ptr<Execution> execution;
    std::optional<size_t> target;  // nullopt: Slurm is to be asked
  };

  // What one of the threads does.
  absl::Time Step();
  std::optional<Task> TakeTask() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AskSlurm(Execution& execution);
  void CarryOutFor(Execution& execution, size_t target);
  PowerOutcome OutcomeFor(Execution& execution, const PowerTarget& target);
  absl::Status AwaitTurn(Execution& execution, const PowerTarget& target, bool in_cycle);
  // Ends an execution that has nothing left to do.
  void Settle(const std::shared_ptr<Execution>& execution);
  bool IsStopping();
  void WakeAll();

  const PowerCollaborators with_;
  absl::Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  PowerPace pace_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> waiting_racks_ ABSL_GUARDED_BY(mutex_);  // where a thread waits for a turn
  std::map<std::string, std::shared_ptr<Execution>> executions_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace muster::controller::power
