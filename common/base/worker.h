// Work that is done in a thread of its own, when it is due or somebody asks for it.
#pragma once

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace muster {

class Clock;

// Calls `step` again and again, one call at a time: at the start, whenever it is woken, and at the
// time that the call before named. Thread-safe. A member of the class whose work it does, and the
// last one: what `step` uses must outlive it.
class Worker {
 public:
  // Does what there is to do and returns when to call it next, unless the worker is woken before:
  // InfiniteFuture() to wait for Wake() alone, a time in the past to be called again at once.
  using Step = std::function<absl::Time()>;

  // `clock` must outlive the worker.
  Worker(Clock& clock, Step step);
  ~Worker();  // stops

  // Call once at most. A worker that was stopped before does nothing.
  void Start();
  // Has the step called once more; it sees all that was done before. Does not block. `step` may
  // call it.
  void Wake();
  // Lets no further step begin. Does not wait for the one that is running; `step` may call it.
  void RequestStop();
  // The same, and waits for it. May be called twice, but not by `step`.
  void Stop();

  // True from RequestStop() on: for steps that take long.
  bool is_stopping() const;
  // True when no step is running and none will.
  bool has_ended() const;

 private:
  void Loop();
  bool IsDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_woken_ || is_stopping_; }

  Clock& clock_;
  const Step step_;
  mutable absl::Mutex mutex_;
  bool is_woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_running_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster
