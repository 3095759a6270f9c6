// Lets nodes that have passed a validation with their present properties into Slurm's service, and
// no others.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/gate/job_gate.h"
#include "controller/gate/service_state.h"
#include "controller/slurm/slurm_control.h"
#include "controller/store/store.h"
#include "muster/v1/validation.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller::validation {

// Looks at Slurm and the store about every half minute and whenever it is woken, and has Slurm do
// what follows from both: whatever was missed is made up for by the next look. Each change is
// stored and in the audit log. Thread-safe.
class ServiceGate final : public JobGate {
 public:
  static constexpr absl::Duration kInterval = absl::Seconds(30);
  // The interval while Slurm does not answer: a new node must be drained before its first job.
  static constexpr absl::Duration kRetryInterval = absl::Seconds(3);
  // The minimum pause between two looks, however often it is woken.
  static constexpr absl::Duration kPause = absl::Milliseconds(200);

  // The references must outlive the object. `warn` is called with the reason why the thread's looks
  // cannot work, once for each kind. `on_news` is called when a validation has ended for a node and
  // when Slurm was told of changes, for those who wait for either; it must not block, and may be
  // empty.
  ServiceGate(Store& store, slurm::SlurmControl& slurm, Clock& clock,
              std::function<void(absl::string_view)> warn, std::function<void()> on_news = nullptr)
      : store_(store),
        slurm_(slurm),
        clock_(clock),
        warn_(std::move(warn)),
        on_news_(std::move(on_news)),
        worker_(clock, [this] { return Step(); }) {}

  void Start() { worker_.Start(); }
  // Waits for a look that is running: Slurm's waits must end first.
  void Stop() { worker_.Stop(); }

  void Wake() override { worker_.Wake(); }
  // Of JobGate; Hold() drains the nodes first, and looks for jobs before that and after it. A node
  // that could not be drained is refused like one with jobs.
  absl::Status Hold(const std::string& validation_id, const std::vector<std::string>& nodes,
                    bool force) override;
  void Release(const std::string& validation_id) override;
  // Those that are idle and that no validation has: first the ones in service, then the ones that
  // are kept out of it.
  std::vector<std::string> WhomToBorrow(const std::vector<std::string>& nodes) override;
  // Stores, and wakes the thread.
  void OnJudged(const std::string& node_uuid, const std::string& validation_id,
                v1::Outcome outcome) override;
  bool is_shut() const override { return true; }
  // As of the last look.
  std::string ServiceOf(const std::string& node) const override;
  // No look that began after the validation's end is through.
  bool IsBehind(const std::string& validation_id) const override;
  // What kept the last look from its work.
  absl::Status trouble() const override;

  absl::Status Reconcile() override;

 private:
  struct Change;
  using Changes = std::vector<Change>;

  // A look, and when the next is due.
  absl::Time Step();
  // Finds what is to be done, and keeps it in the store.
  absl::Status Decide(const std::vector<slurm::SlurmNode>& nodes, Changes& changes,
                      std::map<std::string, std::string>& services)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  // After the drains, of which `told` says what became: whether no job can start on these nodes any
  // more and none is there. The error of Hold().
  absl::Status CheckOut(const std::vector<std::string>& nodes, const absl::Status& told);
  // Stops holding these for the validation. Wakes the thread.
  void Forget(const std::string& validation_id, const std::vector<std::string>& nodes);
  absl::Status Tell(const Changes& changes, std::map<std::string, std::string>& services);

  Store& store_;
  slurm::SlurmControl& slurm_;
  Clock& clock_;
  const std::function<void(absl::string_view)> warn_;
  const std::function<void()> on_news_;
  absl::Mutex look_mutex_;  // one look at a time
  // Changes that are in the audit log but that Slurm has not been seen to have made: node → reason.
  std::map<std::string, std::string> announced_ ABSL_GUARDED_BY(look_mutex_);
  mutable absl::Mutex mutex_;
  absl::Status trouble_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> services_ ABSL_GUARDED_BY(mutex_);  // by node
  std::map<std::string, std::string> held_ ABSL_GUARDED_BY(mutex_);      // node → validation
  std::set<std::string> judged_ ABSL_GUARDED_BY(mutex_);  // those that ended since a look began
  std::set<std::string> looking_
      ABSL_GUARDED_BY(mutex_);  // those that the last look begun takes in
  // The worker's own.
  absl::Time pause_until_ = absl::InfinitePast();
  absl::Status looked_;
  Worker worker_;
};

}  // namespace muster::controller::validation
