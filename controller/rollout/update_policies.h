// The update policies of the inventory in force: they start rollouts without a command.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/rollout/collaborators.h"
#include "controller/rollout/plan/update_policy_plan.h"
#include "controller/rollout/policy_view.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller::rollout {

class RolloutManager;

// Looks every few seconds at what was accepted and at what the inventory says, decides for each
// policy (DecidePolicy()) and starts rollouts as a person would, as "policy:NAME". What a policy
// has tried is the rollout itself, with its bundle and its revision of the inventory, so that
// nothing starts twice, whenever the process ends. Thread-safe.
class UpdatePolicies {
 public:
  static constexpr absl::Duration kInterval = absl::Seconds(5);
  // After a refusal, for as long as neither the bundle nor the inventory has changed.
  static constexpr absl::Duration kRetryInterval = absl::Minutes(1);

  // `rollouts` must outlive the object.
  UpdatePolicies(RolloutCollaborators collaborators, RolloutManager& rollouts);
  ~UpdatePolicies();

  void Start() { worker_.Start(); }
  void Stop() { worker_.Stop(); }

  // What each policy does or waits for now, in the order of the inventory.
  absl::StatusOr<std::vector<v1::UpdatePolicy>> List();

  // One look, in the caller's thread: starts what may start. Returns when the next is due.
  absl::Time Step();

 private:
  absl::StatusOr<std::vector<StoredPolicy>> Look();
  // Covers() with the nodes that the policy has in the revision in force.
  absl::StatusOr<bool> CoversNodes(const UpdatePolicy& policy, uint64_t in_force, uint64_t revision,
                                   const std::string& limit);
  absl::Status LookUpContents(StoredPolicy& stored);
  // The ContentDigest() of that revision; "" where it cannot be read any more.
  absl::StatusOr<std::string> ContentOf(uint64_t revision);
  absl::Status StartDue();
  void Refuse(const StoredPolicy& stored, const absl::Status& status);

  const RolloutCollaborators with_;
  RolloutManager& rollouts_;
  absl::Mutex mutex_;
  std::map<uint64_t, std::string> contents_ ABSL_GUARDED_BY(mutex_);            // by revision
  std::map<std::string, bool> covers_ ABSL_GUARDED_BY(mutex_);                  // by the question
  std::map<std::string, PolicyView::Refusal> refused_ ABSL_GUARDED_BY(mutex_);  // by policy
  std::string warned_;  // why a look failed last; the worker's own
  Worker worker_;
};

}  // namespace muster::controller::rollout
