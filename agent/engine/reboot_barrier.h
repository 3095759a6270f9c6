// Brings roles that run in parallel to a stop for a reboot.
#pragma once

#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace muster {
class Clock;
}

namespace muster::agent {

// Either steps run together or one reboot runs alone; a waiting reboot lets no further step begin.
// Thread-safe.
class RebootBarrier {
 public:
  // `stopping`: true ends every wait.
  RebootBarrier(Clock& clock, std::function<bool()> stopping)
      : clock_(clock), stopping_(std::move(stopping)) {}

  // Call before a step, and LeaveStep() after it. False: the agent is stopping.
  bool EnterStep();
  void LeaveStep();
  // Returns when no step is running and none can begin before EndReboot(). False: the agent is
  // stopping, and EndReboot() must not be called.
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
