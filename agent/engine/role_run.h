// One role of a plan, walked through by one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "agent/engine/progress_board.h"
#include "agent/engine/reboot_barrier.h"
#include "agent/resources/resource.h"
#include "agent/state/journal.h"
#include "common/base/clock.h"
#include "muster/v1/plan.pb.h"

namespace muster::v1 {
class Facts;
}

namespace muster::agent {

using ResourceFactory =
    std::function<absl::StatusOr<std::unique_ptr<Resource>>(const v1::Step& step, bool want_diff)>;

class RebootGate;

// What a reboot needs to know about the node.
struct RebootOptions {
  std::string boot_id;         // the present boot
  RebootGate* gate = nullptr;  // never null where plans run
  // What the node has now; may block for seconds. Empty: it is not compared over reboots.
  std::function<v1::Facts()> look = nullptr;
  // Told what the node has after a reboot, before the step has its outcome; must not block. Empty:
  // nobody is interested.
  std::function<void(v1::Facts)> on_back = nullptr;
  // How long GPUs and mounts may take to be back after a reboot, and the pause between two looks.
  absl::Duration return_patience = absl::Minutes(3);
  absl::Duration return_pause = absl::Seconds(5);
};

// The state that the roles of one running plan share. Thread-safe where it can change.
class PlanContext {
 public:
  PlanContext(const ActivePlan& before, Journal& journal, Clock& clock,
              const ResourceFactory& factory, absl::Mutex& packages, ProgressBoard& progress,
              const RebootOptions& reboots, std::function<bool()> stopping,
              std::function<void(absl::string_view)> note);

  const v1::Plan& plan() const { return *before_.plan; }
  // The outcome of the step, from this life of the agent or an earlier one.
  std::optional<v1::StepStatus> Outcome(const std::string& step_id) const;
  // An earlier life's intent that never got an outcome.
  const v1::StepIntent* CutOff(const std::string& step_id) const;
  // The reboot that an earlier life began for the step; nullptr: none.
  const v1::RebootArmed* Armed(const std::string& step_id) const;
  // Writes the outcome into the journal and remembers it.
  absl::Status Record(const v1::StepResult& result, absl::string_view clean_handler,
                      Journal::Durability durability);

  // Check mode: remembers that the step would change something, and what it would notify.
  void WouldChange(const v1::Step& step);
  // Searches the steps that certainly come before the role's next one, because they are the role's
  // own or of a role that it needs: the first that would change something and may provide what
  // `missing` lacks; "an earlier play" if that was it. Empty: none yet.
  std::string WouldChangeBefore(const v1::RolePlan& role, const absl::Status& missing) const;
  // Remembers whether the unit that the handler restarts was down after the latest change that
  // notified it: then its next start reads that change, and all before it.
  void NoteNotified(const std::string& handler_id, bool is_down);
  // False also where an earlier life of the agent made the change.
  bool WasDown(const std::string& handler_id) const;
  // In the journal; in check mode, whether it would be.
  bool IsDirty(const std::string& handler_id) const;

  bool cancelled() const { return journal_.IsCancelRequested(plan().plan_id()); }
  // The agent is stopping: work that has not begun is left for its next life.
  bool stopping() const { return stopping_(); }

  // Writes to the agent's log.
  void Note(absl::string_view note) { note_(note); }

  Journal& journal() { return journal_; }
  Clock& clock() { return clock_; }
  const ResourceFactory& factory() { return factory_; }
  absl::Mutex& packages() { return packages_; }
  ProgressBoard& progress() { return progress_; }
  const RebootOptions& reboots() const { return reboots_; }
  RebootBarrier& barrier() { return barrier_; }

 private:
  const ActivePlan before_;
  Journal& journal_;
  Clock& clock_;
  const ResourceFactory& factory_;
  absl::Mutex& packages_;  // of the node; see Engine
  ProgressBoard& progress_;
  const RebootOptions& reboots_;
  const std::function<bool()> stopping_;
  const std::function<void(absl::string_view)> note_;
  RebootBarrier barrier_;

  mutable absl::Mutex mutex_;
  std::map<std::string, v1::StepStatus> outcomes_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> would_change_ ABSL_GUARDED_BY(mutex_);  // step ids
  std::map<std::string, bool> would_be_dirty_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, bool> was_down_ ABSL_GUARDED_BY(mutex_);  // by handler
};

enum class RoleEnd { kSucceeded, kFailed, kCancelled };

// Runs the steps that have no outcome yet, in order, then the dirty handlers. After a failure the
// rest is recorded as skipped and dirty handlers stay dirty. nullopt: the agent is stopping, and
// the rest is left to its next life. An error means that the journal could not be written: nothing
// more was done after that.
absl::StatusOr<std::optional<RoleEnd>> RunRole(PlanContext& context, const v1::RolePlan& role);

// Records all of the role's steps as skipped, and its dirty handlers.
absl::Status SkipRole(PlanContext& context, const v1::RolePlan& role, absl::string_view reason);

}  // namespace muster::agent
