#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/engine/role_run.h"
#include "agent/resources/missing.h"
#include "common/base/status.h"

namespace muster::agent {

PlanContext::PlanContext(const ActivePlan& before, Journal& journal, Clock& clock,
                         const ResourceFactory& factory, absl::Mutex& packages,
                         ProgressBoard& progress, const RebootOptions& reboots,
                         std::function<bool()> stopping,
                         std::function<void(absl::string_view)> note)
    : before_(before),
      journal_(journal),
      clock_(clock),
      factory_(factory),
      packages_(packages),
      progress_(progress),
      reboots_(reboots),
      stopping_(std::move(stopping)),
      note_(std::move(note)),
      barrier_(clock, stopping_),
      outcomes_(before.outcomes) {
  if (!plan().check_only()) return;
  // The findings of an earlier life of this check, as far as the journal has them.
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

const v1::RebootArmed* PlanContext::Armed(const std::string& step_id) const {
  const auto it = before_.armed.find(step_id);
  return it == before_.armed.end() ? nullptr : &it->second;
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
  would_change_.insert(step.step_id());
  for (const std::string& handler : step.notify()) would_be_dirty_[handler] = true;
}

std::string PlanContext::WouldChangeBefore(const v1::RolePlan& role,
                                           const absl::Status& missing) const {
  if (plan().after_changes()) return "an earlier play";
  // Parallel roles do not help: which of them comes first is chance.
  std::set<std::string> before = {role.name()};
  for (size_t known = 0; known < before.size();) {
    known = before.size();
    for (const v1::RolePlan& each : plan().roles()) {
      if (before.count(each.name()) > 0) before.insert(each.needs().begin(), each.needs().end());
    }
  }
  absl::MutexLock lock(&mutex_);
  for (const v1::RolePlan& each : plan().roles()) {
    if (before.count(each.name()) == 0) continue;
    for (const v1::Step& step : each.steps()) {
      if (would_change_.count(step.step_id()) == 0 || !MayBring(step, missing)) continue;
      return absl::StrCat("'", step.name().empty() ? step.step_id() : step.name(), "'");
    }
  }
  return "";
}

void PlanContext::NoteNotified(const std::string& handler_id, bool is_down) {
  absl::MutexLock lock(&mutex_);
  was_down_[handler_id] = is_down;
}

bool PlanContext::WasDown(const std::string& handler_id) const {
  absl::MutexLock lock(&mutex_);
  const auto it = was_down_.find(handler_id);
  return it != was_down_.end() && it->second;
}

bool PlanContext::IsDirty(const std::string& handler_id) const {
  if (journal_.IsDirty(handler_id)) return true;
  absl::MutexLock lock(&mutex_);
  return would_be_dirty_.count(handler_id) > 0;
}

}  // namespace muster::agent
