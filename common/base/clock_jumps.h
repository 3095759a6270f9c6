// Threads that wait for a time of day, and what happens to them when somebody sets the clock.
#pragma once

#include <functional>
#include <list>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace muster {

// The kernel waits for a time of day, as absl::Mutex asks it to: a wait of five seconds takes an
// hour and five seconds when the clock is set back by an hour meanwhile, which is what chrony does
// to a machine whose clock was wrong when it booted. This wakes all waits whenever the clock is
// set, so that each computes its end anew. Thread-safe.
class ClockJumps {
 public:
  // A wait that is told, from its beginning to its end. The caller holds `mutex` in both moments.
  class Wait {
   public:
    // `mutex` and `condition` must outlive the object.
    Wait(ClockJumps& jumps, absl::Mutex& mutex, const absl::Condition& condition);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

    // What to wait for. REQUIRES: `mutex` is held, as for the next two.
    bool IsOver() const { return has_jumped_ || condition_.Eval(); }
    bool has_jumped() const { return has_jumped_; }
    void Continue() { has_jumped_ = false; }

   private:
    friend class ClockJumps;

    ClockJumps& jumps_;
    absl::Mutex& mutex_;
    const absl::Condition& condition_;
    bool has_jumped_ = false;
    bool is_told_ = true;  // of the last jump; guarded by the lock of `jumps_`
    std::list<Wait*>::iterator place_;
  };

  // For tests.
  ClockJumps() = default;

  // The one whose thread the kernel tells (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET). It starts
  // with the first call and is never destroyed. Where the kernel does not tell, nobody is woken.
  static ClockJumps& OfKernel();

  // The clock has been set: wakes every wait that has begun. Returns when all are told or over; a
  // mutex that somebody holds is waited for.
  void Tell();

 private:
  // Whether all are told now.
  bool TellThoseFree() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  std::list<Wait*> waits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster
