// The drift policies of the inventory in force: they compare nodes with what was applied to them,
// and repair those that differ, without a command.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/drift/drift_plan.h"
#include "controller/drift/drift_view.h"
#include "muster/v1/drift.pb.h"

namespace muster {
class Clock;
}
namespace muster::v1 {
class CreateRolloutRequest;
class CreateRunRequest;
}  // namespace muster::v1
namespace muster::controller {
class AgentSessions;
struct DriftPolicy;
class Inventory;
class InventorySource;
class NodeClaims;
struct RunActor;
class Store;
}  // namespace muster::controller

namespace muster::controller::drift {

// All must be thread-safe and outlive the checks.
struct DriftCollaborators {
  Store& store;
  AgentSessions& sessions;
  const NodeClaims& claims;
  InventorySource& inventory;
  Clock& clock;
  // See RunManager::Create() and RolloutManager::Create().
  std::function<absl::Status(const v1::CreateRunRequest&, const RunActor&)> start_run;
  std::function<absl::Status(const v1::CreateRolloutRequest&, const RunActor&)> start_rollout;
  // Called with what keeps a policy from its work, once for each reason. May be empty.
  std::function<void(absl::string_view)> warn = nullptr;
};

// Looks every few seconds at what is stored, decides for each policy (Decide()), and starts check
// runs and rollouts as a person would. Thread-safe.
class DriftChecks {
 public:
  static constexpr absl::Duration kInterval = absl::Seconds(10);
  // After a refusal.
  static constexpr absl::Duration kRetryInterval = absl::Minutes(1);
  // A repair waits so long for the jobs of a node, and then lets it be until the next check: it is
  // meant for nodes that are idle.
  static constexpr absl::Duration kRepairDrain = absl::Minutes(1);

  explicit DriftChecks(DriftCollaborators collaborators);
  ~DriftChecks();

  void Start() { worker_.Start(); }
  void Stop() { worker_.Stop(); }

  // What each policy knows, in the order of the inventory; of its nodes those in `only`, if there
  // are any.
  absl::StatusOr<std::vector<v1::DriftPolicy>> List(const std::set<std::string>* only);

  // One look, in the caller's thread: starts what may start. Returns when the next is due.
  absl::Time Step();

 private:
  struct Known {
    std::shared_ptr<const DriftPolicy> policy;
    PolicyView view;
  };
  struct Refusal {
    std::string message;
    absl::Time retry_at;
  };

  absl::StatusOr<std::vector<Known>> Look();
  absl::Status ReadPolicies(const Inventory& inventory, std::vector<Known>& all)
      ABSL_LOCKS_EXCLUDED(reading_mutex_);
  absl::Status StartDue();
  absl::Status Act(const Known& known);
  void Warn(absl::string_view message);

  const DriftCollaborators with_;
  // Held while runs are read: the first look of a process may go through all there are, which is
  // not to be done twice at once.
  absl::Mutex reading_mutex_;
  std::map<std::string, RunHistory> histories_ ABSL_GUARDED_BY(reading_mutex_);  // by policy
  absl::Mutex mutex_;
  std::map<std::string, Refusal> refused_ ABSL_GUARDED_BY(mutex_);  // by policy
  std::string warned_;  // why a look failed last; the worker's own
  Worker worker_;
};

}  // namespace muster::controller::drift
