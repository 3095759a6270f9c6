#include "controller/health/remedies.h"

#include <utility>

#include "common/base/clock.h"

namespace muster::controller::health {

Remedies::Remedies(Store& store, absl::Mutex& rows, StartValidation start_validation,
                   RebootWork reboot, Clock& clock)
    : clock_(clock),
      retests_(store, rows, std::move(start_validation)),
      reboots_(store, rows, std::move(reboot)),
      worker_(clock, [this] { return Step(); }) {}

void Remedies::Set(DueRemedies due) {
  {
    absl::MutexLock lock(&mutex_);
    due_ = std::move(due);
  }
  worker_.Wake();
}

// Goes over the list by its keys, so that it may be exchanged meanwhile: nothing is begun that the
// newest decision does not want.
template <typename Due, typename Beginner>
void Remedies::BeginEach(std::map<NodeCondition, Due> DueRemedies::*list, Beginner& beginner) {
  NodeCondition last;
  while (!worker_.is_stopping()) {
    CallOff();
    std::optional<Due> due;
    {
      absl::MutexLock lock(&mutex_);
      const auto next = (due_.*list).upper_bound(last);
      if (next == (due_.*list).end()) return;
      last = next->first;
      due = next->second;
    }
    beginner.Start(*due, clock_.Now());
  }
}

void Remedies::CallOff() {
  std::vector<std::string> rollouts;
  {
    absl::MutexLock lock(&mutex_);
    rollouts.swap(due_.call_offs);
  }
  for (const std::string& rollout : rollouts) reboots_.CallOff(rollout);
}

absl::Time Remedies::Step() {
  BeginEach(&DueRemedies::reboots, reboots_);
  BeginEach(&DueRemedies::retests, retests_);
  return absl::InfiniteFuture();
}

}  // namespace muster::controller::health
