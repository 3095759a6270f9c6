#include <utility>

#include "agent/engine/role_run.h"
#include "common/base/status.h"

namespace muster::agent {

PlanContext::PlanContext(const ActivePlan& before, Journal& journal, Clock& clock,
                         const ResourceFactory& factory, absl::Mutex& package_manager,
                         ProgressBoard& progress, std::function<bool()> stopping)
    : before_(before),
      journal_(journal),
      clock_(clock),
      factory_(factory),
      package_manager_(package_manager),
      progress_(progress),
      stopping_(std::move(stopping)),
      outcomes_(before.outcomes) {
  if (!plan().check_only()) return;
  // What an earlier life of this check found out, as far as the journal tells.
  for (const v1::RolePlan& role : plan().roles()) {
    for (const v1::Step& step : role.steps()) {
      if (Outcome(step.step_id()) == v1::STEP_STATUS_CHANGED) WouldChange(step);
    }
  }
}

std::optional<v1::StepStatus> PlanContext::Outcome(const std::string& step_id) const {
  absl::MutexLock lock(&mutex_);
  const auto it = outcomes_.find(step_id);
  if (it == outcomes_.end()) return std::nullopt;
  return it->second;
}

const v1::StepIntent* PlanContext::CutOff(const std::string& step_id) const {
  const auto it = before_.cut_off.find(step_id);
  return it == before_.cut_off.end() ? nullptr : &it->second;
}

absl::Status PlanContext::Record(const v1::StepResult& result, absl::string_view clean_handler,
                                 Journal::Durability durability) {
  RETURN_IF_ERROR(journal_.RecordOutcome(plan().plan_id(), result, clean_handler, durability));
  if (!result.handler()) progress_.StepDone();
  absl::MutexLock lock(&mutex_);
  outcomes_[result.step_id()] = result.status();
  return absl::OkStatus();
}

void PlanContext::WouldChange(const v1::Step& step) {
  absl::MutexLock lock(&mutex_);
  if (first_would_change_.empty()) first_would_change_ = step.name();
  if (first_would_change_.empty()) first_would_change_ = step.step_id();
  for (const std::string& handler : step.notify()) would_be_dirty_[handler] = true;
}

std::string PlanContext::FirstWouldChange() const {
  absl::MutexLock lock(&mutex_);
  return first_would_change_;
}

bool PlanContext::IsDirty(const std::string& handler_id) const {
  if (journal_.IsDirty(handler_id)) return true;
  absl::MutexLock lock(&mutex_);
  return would_be_dirty_.count(handler_id) > 0;
}

}  // namespace muster::agent
