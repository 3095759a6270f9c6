#include "common/base/clock_jumps.h"

#include <signal.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <limits>
#include <thread>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace muster {
namespace {

constexpr absl::Duration kBusyLook = absl::Milliseconds(1);

// Blocks until somebody has set the clock; false where the kernel cannot tell.
bool AwaitJump(int timer) {
  // It never expires: only the setting of the clock ends the wait.
  itimerspec never = {};
  never.it_value.tv_sec = std::numeric_limits<int32_t>::max();
  if (timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, nullptr) != 0 &&
      errno != ECANCELED)
    return false;
  for (;;) {
    uint64_t expirations = 0;
    if (read(timer, &expirations, sizeof expirations) >= 0) return true;  // in 2038
    if (errno == ECANCELED) return true;
    if (errno != EINTR) return false;
  }
}

void WatchKernel(ClockJumps& jumps) {
  // Signals are for the threads that handle them.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  const int timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);
  if (timer < 0) return;
  while (AwaitJump(timer)) jumps.Tell();
  close(timer);
}

}  // namespace

ClockJumps::Wait::Wait(ClockJumps& jumps, absl::Mutex& mutex, const absl::Condition& condition)
    : jumps_(jumps), mutex_(mutex), condition_(condition) {
  absl::MutexLock lock(&jumps_.mutex_);
  place_ = jumps_.waits_.insert(jumps_.waits_.end(), this);
}

ClockJumps::Wait::~Wait() {
  absl::MutexLock lock(&jumps_.mutex_);
  jumps_.waits_.erase(place_);
}

ClockJumps& ClockJumps::OfKernel() {
  static ClockJumps& jumps = *[] {
    auto* const jumps = new ClockJumps;
    std::thread([jumps] { WatchKernel(*jumps); }).detach();
    return jumps;
  }();
  return jumps;
}

void ClockJumps::Tell() {
  {
    absl::MutexLock lock(&mutex_);
    for (Wait* wait : waits_) wait->is_told_ = false;
  }
  while (!TellThoseFree()) absl::SleepFor(kBusyLook);
}

// A wait takes our lock while it holds its own mutex, so its mutex is only tried under ours.
bool ClockJumps::TellThoseFree() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  absl::MutexLock lock(&mutex_);
  bool all = true;
  for (Wait* wait : waits_) {
    if (wait->is_told_) continue;
    if (!wait->mutex_.TryLock()) {
      all = false;
      continue;
    }
    wait->has_jumped_ = true;
    wait->is_told_ = true;
    wait->mutex_.Unlock();
  }
  return all;
}

}  // namespace muster
