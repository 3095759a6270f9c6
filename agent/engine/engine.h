// Accepts plans, runs them one after another, and loses nothing on the way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/engine/plan_run.h"
#include "agent/engine/role_run.h"
#include "agent/state/journal.h"
#include "common/base/clock.h"
#include "common/base/worker.h"

namespace muster::v1 {
class Plan;
class PlanReceipt;
class StepProgress;
}  // namespace muster::v1

namespace muster::agent {

// Notified of the engine's activity, from its thread; must not block.
class EngineListener {
 public:
  virtual ~EngineListener() = default;
  // The journal may have new durable reports; also called when there are none.
  virtual void OnReportsReady() = 0;
  // Called at most five times a second.
  virtual void OnProgress(const v1::StepProgress& progress) = 0;
  // A message for the agent's log: a plan starts or ends, the journal cannot be written.
  virtual void OnNote(absl::string_view note) = 0;
};

// Runs accepted plans in the order of their sequences in a thread of its own. A plan left by an
// earlier life of the agent is continued at the first step without an outcome. Thread-safe.
class Engine {
 public:
  struct Options {
    std::string node_uuid;
    RebootOptions reboots;
    PlanRunOptions run = {};
    // After the journal could not be written: time until the plan is resumed.
    absl::Duration retry = absl::Seconds(5);
    // Called with all unfinished plans, at the start and when one is added or ends; must not block.
    // Empty: nobody is interested.
    std::function<void(std::vector<std::shared_ptr<const v1::Plan>>)> on_plans = {};
  };

  // All references must outlive the engine.
  Engine(Options options, ResourceFactory factory, Journal& journal, Clock& clock,
         EngineListener& listener);
  // The destructor stops, and waits for the steps that are running.

  void Start();
  // Begins no further step. What runs ends by itself; then has_ended() is true.
  void Stop() { worker_.RequestStop(); }
  bool has_ended() const { return worker_.has_ended(); }

  // Journals the plan if the rules allow it (see plan.proto); blocks only on the disk.
  v1::PlanReceipt Submit(const v1::Plan& plan);
  // The plan stops after the running step; a plan that is finished or unknown is left alone.
  absl::Status Cancel(absl::string_view plan_id);

  // When the engine's thread last showed a sign of life: at most a few seconds ago if it is alive.
  absl::Time last_alive() const;
  // The plan that is running or next. Empty: none.
  std::string active_plan_id() const;

 private:
  // Runs the next plan as far as it goes; returns when to look again.
  absl::Time Step();
  void TellPlans();
  absl::Status RunNext(const ActivePlan& plan);
  void SayAlive();

  const Options options_;
  const ResourceFactory factory_;
  Journal& journal_;
  Clock& clock_;
  EngineListener& listener_;
  // Held by steps that change packages: shared, because installations of several roles may become
  // one transaction; alone by those that change what packages there are.
  absl::Mutex packages_;
  absl::Mutex submit_mutex_;  // rules and journal of one plan at a time
  absl::Mutex tell_mutex_;    // the last notification is the current state

  mutable absl::Mutex mutex_;
  absl::Time alive_ ABSL_GUARDED_BY(mutex_);
  Worker worker_;
};

}  // namespace muster::agent
