// Lets nodes that have passed a validation with their present properties into Slurm's service, and
// no others.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/gate/service_state.h"
#include "controller/slurm/slurm_control.h"
#include "controller/store/store.h"
#include "muster/v1/validation.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller::validation {

// Looks at Slurm and the store about every half minute and whenever it is woken, and has Slurm make
// the changes that follow from both: the next look makes up for anything that was missed. Each
// change is stored and in the audit log. Thread-safe.
class ServiceGate {
 public:
  static constexpr absl::Duration kInterval = absl::Seconds(30);
  // The interval while Slurm does not answer: a new node must be drained before its first job.
  static constexpr absl::Duration kRetryInterval = absl::Seconds(3);
  // The minimum pause between two looks, however often it is woken.
  static constexpr absl::Duration kPause = absl::Milliseconds(200);

  // The references must outlive the object. `warn` is called with the reason why the thread's looks
  // cannot work, once for each kind.
  ServiceGate(Store& store, slurm::SlurmControl& slurm, Clock& clock,
              std::function<void(absl::string_view)> warn)
      : store_(store), slurm_(slurm), clock_(clock), warn_(std::move(warn)) {}
  ~ServiceGate();  // stops

  void Start();
  // Waits for a look in progress: waits for Slurm must end first.
  void Stop();

  // Something has happened that a look may have to react to. Does not block.
  void Wake();
  // A validation of the node has ended. Stores this, and wakes the thread.
  void OnJudged(const std::string& node_uuid, const std::string& validation_id,
                v1::Outcome outcome);

  // A validation is about to begin on these nodes: drains them, so that no more jobs start, and
  // checks for jobs on them before and after that. FailedPrecondition: there are jobs, which the
  // error names, or Slurm does not answer; not with `force`, nor where there is no Slurm yet.
  // Blocks for Slurm. The nodes are held for the validation until Release(); after an error they
  // are not.
  absl::Status Hold(const std::string& validation_id, const std::vector<std::string>& nodes,
                    bool force);
  // The validation has been stored, or never will be. Wakes the thread.
  void Release(const std::string& validation_id);

  // Those of `nodes` that are idle and in no validation, in the given order: first the ones in
  // service, then those that we keep out of it. All where there is no Slurm yet, none where it
  // cannot be asked. Blocks for Slurm.
  std::vector<std::string> WhomToBorrow(const std::vector<std::string>& nodes);

  // The state at the last look: "in service", "not validated", "drained by root: bad disk"; empty:
  // Slurm does not know the node, or could not be asked yet.
  std::string ServiceOf(const std::string& node) const;
  // The validation has ended, and no look that began after that has finished: ServiceOf() is
  // outdated for its nodes.
  bool IsBehind(const std::string& validation_id) const;
  // Why the last look could not do its work; OK: it could.
  absl::Status trouble() const;

  // Looks once, in the caller's thread. The error says what Slurm or the store could not do;
  // everything else has been done.
  absl::Status Look();

 private:
  struct Change;
  using Changes = std::vector<Change>;

  bool IsWoken() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || woken_; }
  // Finds what is to be done, and stores it.
  absl::Status Decide(const std::vector<slurm::SlurmNode>& nodes, Changes& changes,
                      std::map<std::string, std::string>& services)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  // Stops holding these for the validation. Wakes the thread.
  void Forget(const std::string& validation_id, const std::vector<std::string>& nodes);
  absl::Status Tell(const Changes& changes, std::map<std::string, std::string>& services);

  Store& store_;
  slurm::SlurmControl& slurm_;
  Clock& clock_;
  const std::function<void(absl::string_view)> warn_;
  absl::Mutex look_mutex_;  // one look at a time
  // Changes that are in the audit log but that Slurm has not been seen to have made: node → reason.
  std::map<std::string, std::string> announced_ ABSL_GUARDED_BY(look_mutex_);
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status trouble_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> services_ ABSL_GUARDED_BY(mutex_);  // by node
  std::map<std::string, std::string> held_ ABSL_GUARDED_BY(mutex_);      // node → validation
  std::set<std::string> judged_ ABSL_GUARDED_BY(mutex_);  // those that ended since a look began
  std::set<std::string> looking_
      ABSL_GUARDED_BY(mutex_);  // validations that the last look takes into account
  std::thread thread_;
};

}  // namespace muster::controller::validation
