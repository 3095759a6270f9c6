#include "agent/engine/engine.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/engine/plan_rules.h"
#include "agent/engine/progress_board.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::agent {
namespace {

// A plan ends this wait at once; this is how often an idle engine shows a sign of life.
constexpr absl::Duration kIdleWait = absl::Seconds(10);

uint32_t StepsThrough(const ActivePlan& plan) {
  uint32_t through = 0;
  for (const v1::RolePlan& role : plan.plan->roles()) {
    for (const v1::Step& step : role.steps()) {
      through += static_cast<uint32_t>(plan.outcomes.count(step.step_id()));
    }
  }
  return through;
}

}  // namespace

Engine::Engine(Options options, ResourceFactory factory, Journal& journal, Clock& clock,
               EngineListener& listener)
    : options_(std::move(options)),
      factory_(std::move(factory)),
      journal_(journal),
      clock_(clock),
      listener_(listener),
      alive_(clock.Now()),
      worker_(clock, [this] { return Step(); }) {}

void Engine::TellPlans() {
  if (!options_.on_plans) return;
  absl::MutexLock lock(&tell_mutex_);
  options_.on_plans(journal_.UnfinishedPlans());
}

void Engine::Start() {
  TellPlans();
  worker_.Start();
}

absl::Time Engine::last_alive() const {
  absl::MutexLock lock(&mutex_);
  return alive_;
}

void Engine::SayAlive() {
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&mutex_);
  alive_ = now;
}

std::string Engine::active_plan_id() const {
  const std::optional<ActivePlan> plan = journal_.NextPlan();
  return plan.has_value() ? plan->plan->plan_id() : std::string();
}

absl::Time Engine::Step() {
  SayAlive();
  const std::optional<ActivePlan> plan = journal_.NextPlan();
  if (!plan.has_value()) return clock_.Now() + kIdleWait;
  const absl::Status status = RunNext(*plan);
  if (!status.ok()) {
    listener_.OnNote(absl::StrCat("plan ", plan->plan->plan_id(), " waits: ", status.message(),
                                  "; free space or repair the disk of the agent's state"));
  }
  listener_.OnReportsReady();
  return status.ok() ? absl::InfinitePast() : clock_.Now() + options_.retry;
}

absl::Status Engine::RunNext(const ActivePlan& plan) {
  const std::string& id = plan.plan->plan_id();
  if (plan.outcomes.empty() && plan.cut_off.empty()) {
    const absl::Status in_time = CheckNotExpired(*plan.plan, clock_.Now());
    if (!in_time.ok()) {
      v1::PlanOutcome outcome;
      outcome.set_message(absl::StrCat(in_time.message(), " before its turn came"));
      RETURN_IF_ERROR(journal_.FinishPlan(id, outcome));
      TellPlans();
      return absl::OkStatus();
    }
    listener_.OnNote(
        absl::StrCat("plan ", id, " starts", plan.plan->check_only() ? " in check mode" : ""));
  } else {
    listener_.OnNote(
        absl::StrCat("plan ", id, " continues after ", Counted(plan.outcomes.size(), "step")));
  }
  ProgressBoard progress(*plan.plan, StepsThrough(plan),
                         [this](const v1::StepProgress& p) { listener_.OnProgress(p); });
  PlanContext context(
      plan, journal_, clock_, factory_, packages_, progress, options_.reboots,
      [this] { return worker_.is_stopping(); },
      [this](absl::string_view note) { listener_.OnNote(note); });
  const auto on_tick = [&] {
    SayAlive();
    // An error occurs again at the next record.
    if (journal_.Sync().ok()) listener_.OnReportsReady();
    progress.Flush();
  };
  ASSIGN_OR_RETURN(const std::optional<v1::PlanOutcome> outcome,
                   RunPlan(context, options_.run, on_tick));
  if (!outcome.has_value()) return absl::OkStatus();
  progress.Flush();
  RETURN_IF_ERROR(journal_.FinishPlan(id, *outcome));
  TellPlans();
  listener_.OnNote(absl::StrCat(
      "plan ", id, outcome->succeeded() ? " succeeded" : absl::StrCat(": ", outcome->message())));
  return absl::OkStatus();
}

v1::PlanReceipt Engine::Submit(const v1::Plan& plan) {
  absl::MutexLock submit(&submit_mutex_);
  v1::PlanReceipt receipt;
  receipt.set_plan_id(plan.plan_id());
  const bool known =
      journal_.IsActive(plan.plan_id()) || journal_.FindFinished(plan.plan_id()).has_value();
  if (known && plan.node_uuid() == options_.node_uuid) {
    receipt.set_accepted(true);
    return receipt;
  }
  absl::Status status =
      CheckPlan(plan, options_.node_uuid, journal_.highest_plan_sequence(), clock_.Now());
  if (status.ok()) status = Annotate(journal_.AcceptPlan(plan), "plan cannot be journaled");
  receipt.set_accepted(status.ok());
  receipt.set_reason(std::string(status.message()));
  if (!status.ok()) return receipt;
  TellPlans();
  worker_.Wake();
  return receipt;
}

absl::Status Engine::Cancel(absl::string_view plan_id) {
  absl::MutexLock submit(&submit_mutex_);
  if (!journal_.IsActive(plan_id) || journal_.IsCancelRequested(plan_id)) return absl::OkStatus();
  return journal_.RequestCancel(plan_id);
}

}  // namespace muster::agent
