#include "agent/engine/progress_board.h"

#include <utility>

#include "common/base/text/utf8.h"

namespace muster::agent {

ProgressBoard::ProgressBoard(const v1::Plan& plan, uint32_t steps_done, Sink sink)
    : sink_(std::move(sink)) {
  uint32_t total = 0;
  for (const v1::RolePlan& role : plan.roles()) total += static_cast<uint32_t>(role.steps_size());
  absl::MutexLock lock(&mutex_);
  latest_.set_plan_id(plan.plan_id());
  latest_.set_steps_done(steps_done);
  latest_.set_steps_total(total);
}

void ProgressBoard::Show(absl::string_view role, const v1::Step& step, absl::string_view activity,
                         std::optional<float> percent) {
  absl::MutexLock lock(&mutex_);
  latest_.set_role(std::string(role));
  latest_.set_step_id(step.step_id());
  latest_.set_name(step.name());
  latest_.set_activity(step.sensitive() ? std::string() : ValidUtf8(activity, 200));
  latest_.clear_percent();
  if (percent.has_value()) latest_.set_percent(*percent);
  fresh_ = true;
}

void ProgressBoard::StepDone() {
  absl::MutexLock lock(&mutex_);
  latest_.set_steps_done(latest_.steps_done() + 1);
  fresh_ = true;
}

void ProgressBoard::Flush() {
  v1::StepProgress progress;
  {
    absl::MutexLock lock(&mutex_);
    if (!fresh_) return;
    fresh_ = false;
    progress = latest_;
  }
  sink_(progress);
}

}  // namespace muster::agent
