#include "agent/engine/plan_run.h"

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

// Hands out roles to threads as their needs succeed.
class RoleGraph {
 public:
  explicit RoleGraph(PlanContext& context) : context_(context) {
    for (const v1::RolePlan& role : context.plan().roles()) states_[role.name()] = State::kWaiting;
    waiting_ = context.plan().roles_size();
  }

  // The body of a thread: takes a role and runs it, until none is left.
  void Work() {
    while (const v1::RolePlan* role = Take()) {
      absl::StatusOr<std::optional<RoleEnd>> end = RunRole(context_, *role);
      absl::MutexLock lock(&mutex_);
      Finish(*role, end);
    }
    absl::MutexLock lock(&mutex_);
    --workers_;
  }

  void AddWorker() {
    absl::MutexLock lock(&mutex_);
    ++workers_;
  }

  // True when every thread is done; waits at most until `deadline`.
  bool AwaitEnd(absl::Time deadline) {
    absl::MutexLock lock(&mutex_);
    return context_.clock().AwaitUntil(mutex_, absl::Condition(this, &RoleGraph::NoWorkers),
                                       deadline);
  }

  absl::Status error() const {
    absl::MutexLock lock(&mutex_);
    return error_;
  }
  bool stopped() const {
    absl::MutexLock lock(&mutex_);
    return stopped_;
  }

 private:
  enum class State { kWaiting, kRunning, kSucceeded, kFailed, kSkipped };

  bool NoWorkers() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return workers_ == 0; }
  bool SomethingToDo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return waiting_ == 0 || !error_.ok() || stopped_ || FindReady() != nullptr;
  }

  const v1::RolePlan* FindReady() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const v1::RolePlan& role : context_.plan().roles()) {
      if (states_.at(role.name()) != State::kWaiting) continue;
      bool ready = true;
      for (const std::string& need : role.needs()) ready &= states_.at(need) == State::kSucceeded;
      if (ready) return &role;
    }
    return nullptr;
  }

  // nullptr: nothing is left for this thread.
  const v1::RolePlan* Take() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &RoleGraph::SomethingToDo));
    if (waiting_ == 0 || !error_.ok() || stopped_) return nullptr;
    const v1::RolePlan* role = FindReady();
    states_[role->name()] = State::kRunning;
    --waiting_;
    return role;
  }

  void Finish(const v1::RolePlan& role, const absl::StatusOr<std::optional<RoleEnd>>& end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!end.ok()) {
      error_.Update(end.status());
      return;
    }
    if (!end->has_value()) {
      stopped_ = true;
      return;
    }
    states_[role.name()] = *end == RoleEnd::kSucceeded ? State::kSucceeded : State::kFailed;
    if (*end != RoleEnd::kSucceeded) SkipDependants();
  }

  // Everything that can no longer run is skipped at once.
  void SkipDependants() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (bool progress = true; progress;) {
      progress = false;
      for (const v1::RolePlan& role : context_.plan().roles()) {
        if (states_[role.name()] != State::kWaiting) continue;
        for (const std::string& need : role.needs()) {
          const State state = states_[need];
          if (state != State::kFailed && state != State::kSkipped) continue;
          const std::string reason =
              context_.cancelled()
                  ? "cancelled"
                  : absl::StrCat("needs role ", need, ", which ",
                                 state == State::kFailed ? "failed" : "was skipped");
          error_.Update(SkipRole(context_, role, reason));
          states_[role.name()] = State::kSkipped;
          --waiting_;
          progress = true;
          break;
        }
      }
    }
  }

  PlanContext& context_;
  mutable absl::Mutex mutex_;
  std::map<std::string, State> states_ ABSL_GUARDED_BY(mutex_);
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  int workers_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

// Derived only from the steps' outcomes, so that it is the same after any number of restarts.
v1::PlanOutcome SumUp(const PlanContext& context, absl::Duration elapsed) {
  v1::PlanOutcome outcome;
  std::string message;
  for (const v1::RolePlan& role : context.plan().roles()) {
    const auto blame = [&](const v1::Step& step, absl::string_view what) {
      if (context.Outcome(step.step_id()) != v1::STEP_STATUS_FAILED) return;
      absl::StrAppend(&message, message.empty() ? "" : "; ", "role ", role.name(), " failed at ",
                      what, "'", step.name().empty() ? step.step_id() : step.name(), "'");
    };
    for (const v1::Step& step : role.steps()) blame(step, "");
    for (const v1::Step& handler : role.handlers()) blame(handler, "handler ");
  }
  outcome.set_cancelled(context.cancelled());
  if (outcome.cancelled()) absl::StrAppend(&message, message.empty() ? "" : "; ", "cancelled");
  outcome.set_succeeded(message.empty());
  outcome.set_message(message);
  *outcome.mutable_elapsed() = ToProtoDuration(std::max(absl::ZeroDuration(), elapsed));
  return outcome;
}

}  // namespace

absl::StatusOr<std::optional<v1::PlanOutcome>> RunPlan(PlanContext& context,
                                                       const PlanRunOptions& options,
                                                       const std::function<void()>& on_tick) {
  const absl::Time started = context.clock().Now();
  RoleGraph graph(context);
  std::vector<std::thread> threads;
  const int count = std::min(options.max_parallel_roles, context.plan().roles_size());
  for (int i = 0; i < count; ++i) {
    graph.AddWorker();
    threads.emplace_back([&graph] { graph.Work(); });
  }
  while (!graph.AwaitEnd(context.clock().Now() + options.tick)) on_tick();
  for (std::thread& thread : threads) thread.join();
  if (!graph.error().ok() || graph.stopped()) {
    on_tick();
    RETURN_IF_ERROR(graph.error());
    return std::nullopt;
  }
  // No last tick: the plan's end, and with it all outcomes, is about to be made durable.
  return SumUp(context, context.clock().Now() - started);
}

}  // namespace muster::agent
