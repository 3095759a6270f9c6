#include "common/base/clock.h"

#include <algorithm>
#include <chrono>

#include "absl/time/clock.h"
#include "common/base/clock_jumps.h"

namespace muster {

absl::Duration SteadyNow() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

absl::Time RealClock::Now() { return absl::Now(); }

bool RealClock::AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                           absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) {
    mutex.Await(condition);
    return true;
  }
  ClockJumps::Wait wait(ClockJumps::OfKernel(), mutex, condition);
  // In this order, and in the loop as well, a moment between two readings makes no wait end early.
  const absl::Duration patience = deadline - Now();
  const absl::Duration begin = SteadyNow();
  for (;;) {
    const absl::Duration waited = SteadyNow() - begin;
    const absl::Time end = std::min(deadline, Now() + (patience - waited));
    mutex.AwaitWithDeadline(absl::Condition(&wait, &ClockJumps::Wait::IsOver), end);
    if (condition.Eval()) return true;
    if (!wait.has_jumped()) return false;
    wait.Continue();
  }
}

void RealClock::Sleep(absl::Duration duration) { absl::SleepFor(duration); }

}  // namespace muster
