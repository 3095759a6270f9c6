// The rollouts of the controller, for many threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/audit/audit.h"
#include "controller/rollout/active_rollout.h"
#include "controller/rollout/collaborators.h"
#include "controller/rollout/observation.h"
#include "controller/rollout/rollout_feed.h"

namespace muster::controller::rollout {

// Looks at every open rollout several times a second, decides from the stored rows what may happen
// now (Decide()), stores it, and has runs, validations and the gate to Slurm do it. Thread-safe.
// One thread does the work; calls of people run in the caller's thread.
class RolloutManager {
 public:
  // Between two looks at the store while nodes are being updated, and otherwise.
  static constexpr absl::Duration kBusyInterval = absl::Milliseconds(250);
  static constexpr absl::Duration kIdleInterval = absl::Seconds(5);
  // Between two looks at Slurm while nothing is known to have changed: the first for a thousand
  // nodes, and so much more for each thousand.
  static constexpr absl::Duration kSlurmInterval = absl::Seconds(1);
  // Until a run or validation that other work is in the way of is tried again.
  static constexpr absl::Duration kRetryInterval = absl::Seconds(1);
  // Runs and validations that are begun in one look; each takes up to some seconds.
  static constexpr int kStartsAtOnce = 8;

  explicit RolloutManager(RolloutCollaborators collaborators);
  ~RolloutManager();  // stops

  // Takes up the rollouts of an earlier process. Call once, first, after runs and validations have
  // started.
  absl::Status Resume();
  void Start() { worker_.Start(); }
  // Rollouts stay as they are in the store.
  void Stop() { worker_.Stop(); }
  // Something has happened that rollouts may wait for. Does not block.
  void Wake() { worker_.Wake(); }
  // Likewise, in Slurm, too: it is asked at once instead of after the interval.
  void LookAgain() {
    is_look_due_ = true;
    worker_.Wake();
  }

  // See PrepareRollout(). FailedPrecondition also: another rollout has some of the nodes.
  absl::StatusOr<v1::Rollout> Create(const v1::CreateRolloutRequest& request,
                                     const RunActor& actor);
  // Blocks for Slurm.
  absl::StatusOr<v1::PreviewRolloutResponse> Preview(const v1::CreateRolloutRequest& request,
                                                     const RunActor& actor);
  // Pauses, resumes, aborts or rolls back. FailedPrecondition: not in its present state, or there
  // is nothing to roll back to.
  absl::StatusOr<v1::Rollout> Change(const std::string& rollout_id, RolloutEvent event,
                                     absl::string_view reason, const Actor& actor);
  // Without a `rollout_id` it is the newest rollout that has the node. NotFound: there is none.
  absl::StatusOr<v1::ExplainRolloutNodeResponse> Explain(const std::string& node,
                                                         std::string rollout_id);
  // See RolloutFeed::Watch(); those that have ended are read from the store. NotFound: no such
  // rollout.
  absl::StatusOr<std::shared_ptr<RolloutWatch>> Watch(const std::string& rollout_id,
                                                      uint64_t after_sequence,
                                                      std::function<void()> on_ready);
  // Disconnects all watchers, and those that come from now on.
  void EndWatches();

  // One look, in the caller's thread: at Slurm, too, if that is due. Returns when the next is due.
  absl::Time Step();

 private:
  // A run or a validation to begin, or jobs to requeue, outside of the lock.
  struct Opening {
    std::string rollout_id;
    size_t node = 0;
    v1::RolloutStep step;
  };

  absl::StatusOr<std::string> Insert(ActiveRollout rollout);
  ActiveRollout* Find(const std::string& rollout_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The nodes whose jobs matter now.
  std::vector<std::string> JobsWanted() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookAtSlurm();
  // Carries out what Decide() and the node's work say. Returns what is to be begun.
  absl::Status Advance(ActiveRollout& rollout, std::vector<Opening>& openings)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Settle(ActiveRollout& rollout, RolloutMove move)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Creates the rollout that takes the touched nodes back; its id, or "" where none was touched.
  absl::StatusOr<std::string> CreateWayBack(const ActiveRollout& rollout,
                                            const std::vector<std::string>& touched)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Begin(const Opening& opening);
  void Requeue(const Opening& opening);
  // Stores what the node waits for, if that is news; it is tried again after kRetryInterval.
  void Note(const Opening& opening, absl::string_view message);

  const RolloutCollaborators with_;
  mutable absl::Mutex mutex_;
  std::map<std::string, std::unique_ptr<ActiveRollout>> active_ ABSL_GUARDED_BY(mutex_);
  Observation seen_ ABSL_GUARDED_BY(mutex_);
  Absences absences_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> watches_ended_ = false, is_look_due_ = false;
  absl::Status advanced_;  // why a look failed last; the worker's own, as is the next
  absl::Time next_look_at_slurm_ = absl::InfinitePast();
  Worker worker_;
};

}  // namespace muster::controller::rollout
