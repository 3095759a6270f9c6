#include "common/base/clock.h"

#include "absl/time/clock.h"

namespace muster {

absl::Time RealClock::Now() { return absl::Now(); }

bool RealClock::AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                           absl::Time deadline) {
  return mutex.AwaitWithDeadline(condition, deadline);
}

void RealClock::Sleep(absl::Duration duration) { absl::SleepFor(duration); }

}  // namespace muster
