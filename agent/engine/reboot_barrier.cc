#include "agent/engine/reboot_barrier.h"

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster::agent {
namespace {

// How often a wait looks whether the agent is stopping.
constexpr absl::Duration kBarrierLook = absl::Milliseconds(200);

}  // namespace

bool RebootBarrier::Await(bool (RebootBarrier::*condition)() const) {
  while (!(this->*condition)()) {
    if (stopping_()) return false;
    clock_.AwaitUntil(mutex_, absl::Condition(this, condition), clock_.Now() + kBarrierLook);
  }
  return true;
}

bool RebootBarrier::EnterStep() {
  absl::MutexLock lock(&mutex_);
  if (!Await(&RebootBarrier::NoReboot)) return false;
  ++steps_;
  return true;
}

void RebootBarrier::LeaveStep() {
  absl::MutexLock lock(&mutex_);
  --steps_;
}

bool RebootBarrier::BeginReboot() {
  absl::MutexLock lock(&mutex_);
  if (!Await(&RebootBarrier::NoReboot)) return false;
  reboot_ = true;
  if (Await(&RebootBarrier::NoStep)) return true;
  reboot_ = false;
  return false;
}

void RebootBarrier::EndReboot() {
  absl::MutexLock lock(&mutex_);
  reboot_ = false;
}

}  // namespace muster::agent
