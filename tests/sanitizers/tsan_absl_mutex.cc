// Tells ThreadSanitizer about the locks of Debian's Abseil.
//
// libabsl_synchronization.a is not built with -fsanitize=thread, so its atomics are invisible: each
// datum guarded by an absl::Mutex would be reported as a race. The preset tsan links with --wrap
// for the functions below. Muster, gRPC and Abseil itself then call this file, which wraps the real
// function in the annotations that an instrumented Abseil contains. Between the pre_ and post_ of
// an annotation accesses are ignored: there Abseil evaluates conditions, at times those of another
// waiting thread.
#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

namespace {

class Locking {
 public:
  explicit Locking(void* mutex, unsigned flags = 0) : mutex_(mutex), flags_(flags) {
    __tsan_mutex_pre_lock(mutex_, flags_);
  }
  ~Locking() { __tsan_mutex_post_lock(mutex_, flags_, /*recursion=*/0); }
  bool Tried(bool locked) {
    if (!locked) flags_ |= __tsan_mutex_try_lock_failed;
    return locked;
  }

 private:
  void* const mutex_;
  unsigned flags_;
};

class Unlocking {
 public:
  explicit Unlocking(void* mutex, unsigned flags = 0) : mutex_(mutex), flags_(flags) {
    __tsan_mutex_pre_unlock(mutex_, flags_);
  }
  ~Unlocking() { __tsan_mutex_post_unlock(mutex_, flags_); }

 private:
  void* const mutex_;
  const unsigned flags_;
};

// A wait releases the lock and takes it again. Nobody here waits with a reader's lock.
class Waiting {
 public:
  explicit Waiting(void* mutex) : locking_(GivenAway(mutex)) {}

 private:
  static void* GivenAway(void* mutex) {
    Unlocking unlocking(mutex);
    return mutex;
  }
  Locking locking_;
};

}  // namespace

// The linker turns absl::X into these names: __real_ is Abseil's own, __wrap_ is called in its
// place.
#define WRAP(result, name, parameters)        \
  extern "C" result __real_##name parameters; \
  extern "C" result __wrap_##name parameters

using absl::Condition;
using absl::CondVar;
using absl::Duration;
using absl::Mutex;
using absl::Notification;
using absl::Time;

WRAP(void, _ZN4absl7debian35MutexD1Ev, (Mutex * m)) {
  __tsan_mutex_destroy(m, __tsan_mutex_not_static);
  __real__ZN4absl7debian35MutexD1Ev(m);
}
WRAP(void, _ZN4absl7debian35Mutex4LockEv, (Mutex * m)) {
  Locking locking(m);
  __real__ZN4absl7debian35Mutex4LockEv(m);
}
WRAP(void, _ZN4absl7debian35Mutex6UnlockEv, (Mutex * m)) {
  Unlocking unlocking(m);
  __real__ZN4absl7debian35Mutex6UnlockEv(m);
}
WRAP(bool, _ZN4absl7debian35Mutex7TryLockEv, (Mutex * m)) {
  Locking locking(m, __tsan_mutex_try_lock);
  return locking.Tried(__real__ZN4absl7debian35Mutex7TryLockEv(m));
}
WRAP(void, _ZN4absl7debian35Mutex10ReaderLockEv, (Mutex * m)) {
  Locking locking(m, __tsan_mutex_read_lock);
  __real__ZN4absl7debian35Mutex10ReaderLockEv(m);
}
WRAP(void, _ZN4absl7debian35Mutex12ReaderUnlockEv, (Mutex * m)) {
  Unlocking unlocking(m, __tsan_mutex_read_lock);
  __real__ZN4absl7debian35Mutex12ReaderUnlockEv(m);
}
WRAP(void, _ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE, (Mutex * m, const Condition& c)) {
  Locking locking(m);
  __real__ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE(m, c);
}
WRAP(bool, _ZN4absl7debian35Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE,
     (Mutex * m, const Condition& c, Duration timeout)) {
  Locking locking(m);
  return __real__ZN4absl7debian35Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE(
      m, c, timeout);
}
WRAP(bool, _ZN4absl7debian35Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE,
     (Mutex * m, const Condition& c, Time deadline)) {
  Locking locking(m);
  return __real__ZN4absl7debian35Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE(m, c,
                                                                                         deadline);
}
WRAP(void, _ZN4absl7debian319ReleasableMutexLock7ReleaseEv, (void** lock)) {
  Unlocking unlocking(*lock);
  __real__ZN4absl7debian319ReleasableMutexLock7ReleaseEv(lock);
}

WRAP(void, _ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE, (Mutex * m, const Condition& c)) {
  Waiting waiting(m);
  __real__ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE(m, c);
}
WRAP(bool, _ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE,
     (Mutex * m, const Condition& c, Duration timeout)) {
  Waiting waiting(m);
  return __real__ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE(m, c,
                                                                                         timeout);
}
WRAP(bool, _ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE,
     (Mutex * m, const Condition& c, Time deadline)) {
  Waiting waiting(m);
  return __real__ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE(m, c,
                                                                                      deadline);
}

WRAP(void, _ZN4absl7debian37CondVar4WaitEPNS0_5MutexE, (CondVar * v, Mutex* m)) {
  Waiting waiting(m);
  __real__ZN4absl7debian37CondVar4WaitEPNS0_5MutexE(v, m);
}
WRAP(bool, _ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE,
     (CondVar * v, Mutex* m, Duration timeout)) {
  Waiting waiting(m);
  return __real__ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE(v, m, timeout);
}
WRAP(bool, _ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE,
     (CondVar * v, Mutex* m, Time deadline)) {
  Waiting waiting(m);
  return __real__ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE(v, m, deadline);
}

// Everything before Notify() happens before the end of a wait for it.
WRAP(void, _ZN4absl7debian312Notification6NotifyEv, (Notification * n)) {
  __tsan_release(n);
  __real__ZN4absl7debian312Notification6NotifyEv(n);
}
WRAP(void, _ZNK4absl7debian312Notification19WaitForNotificationEv, (Notification * n)) {
  __real__ZNK4absl7debian312Notification19WaitForNotificationEv(n);
  __tsan_acquire(n);
}
WRAP(bool, _ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE,
     (Notification * n, Duration timeout)) {
  const bool notified =
      __real__ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE(
          n, timeout);
  if (notified) __tsan_acquire(n);
  return notified;
}
