// Takes plans, runs them one after another, and lets nothing be lost on the way.
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

// Told of what the engine does, from its thread; must not block.
class EngineListener {
 public:
  virtual ~EngineListener() = default;
  // The journal may have more durable reports; also called when there are none.
  virtual void OnReportsReady() = 0;
  // At most five times a second.
  virtual void OnProgress(const v1::StepProgress& progress) = 0;
  // Something for the agent's log: a plan starts or ends, the journal cannot be written.
  virtual void OnNote(absl::string_view note) = 0;
};

// Runs accepted plans in the order of their sequences in a thread of its own. A plan that an
// earlier life of the agent left is continued at the first step without outcome. Thread-safe.
class Engine {
 public:
  struct Options {
    std::string node_uuid;
    RebootMeans reboots;
    PlanRunOptions run = {};
    // After the journal could not be written: how long until the plan is taken up again.
    absl::Duration retry = absl::Seconds(5);
    // Called with all plans that are not over, at the start and when one comes or goes; must not
    // block. Empty: nobody wants to know.
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

  // Journals the plan if the rules allow it (see plan.proto); blocks on the disk only.
  v1::PlanReceipt Submit(const v1::Plan& plan);
  // The plan stops after the step that is running; plans that are over or unknown do not care.
  absl::Status Cancel(absl::string_view plan_id);

  // When the engine's thread last showed that it lives: at most a few seconds ago if it does.
  absl::Time last_alive() const;
  // The plan that runs or is next. Empty: none.
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
  absl::Mutex package_manager_;
  absl::Mutex submit_mutex_;  // rules and journal of one plan at a time
  absl::Mutex tell_mutex_;    // what is told last is what is so

  mutable absl::Mutex mutex_;
  absl::Time alive_ ABSL_GUARDED_BY(mutex_);
  Worker worker_;
};

}  // namespace muster::agent
