// The events that watchers of one validation see, live.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace muster::v1 {
class ValidationEvent;
}

namespace muster::controller::validation {

using ValidationEventPtr = std::shared_ptr<const v1::ValidationEvent>;

class ValidationWatch;

// Passes events to the present watchers; keeps none for later, because the verdicts are in the
// store. Thread-safe.
class ValidationEvents : public std::enable_shared_from_this<ValidationEvents> {
 public:
  // `may_be_lost`: dropped for a watcher that does not keep up.
  void Publish(v1::ValidationEvent event, bool may_be_lost);
  // Publishes the last event; later watchers get it too.
  void Finish(v1::ValidationEvent event);
  // The controller is stopping: disconnects the watchers, which may come back elsewhere.
  void Break();

  // `on_ready` is called, from any thread and without locks, whenever Next() may have something
  // new; never after ValidationWatch::Cancel() has returned.
  std::shared_ptr<ValidationWatch> Watch(std::function<void()> on_ready);

 private:
  friend class ValidationWatch;
  void Notify() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  ValidationEventPtr last_ ABSL_GUARDED_BY(mutex_);  // nullptr: still running
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::weak_ptr<ValidationWatch>> watches_ ABSL_GUARDED_BY(mutex_);
};

// One watcher. Bounded: a watcher that falls far behind is told to come back.
class ValidationWatch {
 public:
  static constexpr size_t kMaxLost = 256;  // limit for events that may be lost
  static constexpr size_t kMaxWaiting = 20'000;

  // The next event; nullptr: none yet.
  ValidationEventPtr Next();
  // The validation has ended and Next() has returned every event.
  bool AtEnd();
  bool IsBroken();
  // After this returns, on_ready is not called any more; waits for a call in progress.
  void Cancel();

 private:
  friend class ValidationEvents;
  ValidationWatch(std::shared_ptr<ValidationEvents> events, std::function<void()> on_ready)
      : events_(std::move(events)), on_ready_(std::move(on_ready)) {}

  const std::shared_ptr<ValidationEvents> events_;
  std::deque<ValidationEventPtr> waiting_ ABSL_GUARDED_BY(events_->mutex_);
  bool overrun_ ABSL_GUARDED_BY(events_->mutex_) = false;
  absl::Mutex callback_mutex_;
  std::function<void()> on_ready_ ABSL_GUARDED_BY(callback_mutex_);
};

}  // namespace muster::controller::validation
