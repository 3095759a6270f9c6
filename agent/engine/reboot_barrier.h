// Roles that run side by side, brought to a stop for a reboot.
#pragma once

#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace muster {
class Clock;
}

namespace muster::agent {

// Steps run together or one reboot runs alone; a reboot that waits lets no further step begin.
// Thread-safe.
class RebootBarrier {
 public:
  // `stopping`: true ends every wait.
  RebootBarrier(Clock& clock, std::function<bool()> stopping)
      : clock_(clock), stopping_(std::move(stopping)) {}

  // Before a step, which must be followed by LeaveStep(). False: the agent is stopping.
  bool EnterStep();
  void LeaveStep();
  // Returns when no step is running and none can begin before EndReboot(). False: the agent is
  // stopping, and there is nothing to end.
  bool BeginReboot();
  void EndReboot();

 private:
  bool NoReboot() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !reboot_; }
  bool NoStep() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return steps_ == 0; }
  bool Await(bool (RebootBarrier::*condition)() const) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  const std::function<bool()> stopping_;
  absl::Mutex mutex_;
  int steps_ ABSL_GUARDED_BY(mutex_) = 0;
  bool reboot_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::agent
