// Those who watch the time line. What they have not seen yet is in the store, so they come back to
// their place after a restart of the controller, too.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/feed/event_feed.h"
#include "controller/timeline/timeline.h"

namespace muster {
class Clock;
}
namespace muster::controller {
class Store;
}

namespace muster::controller::timeline {

using TimelineWatch = EventWatch<v1::TimelineEvent>;

// One thread reads for all of them, and only while there are any. Thread-safe.
class TimelineWatches {
 public:
  static constexpr absl::Duration kLook = absl::Milliseconds(500);
  static constexpr absl::Duration kStoreRetry = absl::Seconds(5);
  // Events that wait for one watcher; the rest waits in the store.
  static constexpr size_t kMaxWaiting = 1000;

  // The references must outlive the object.
  TimelineWatches(Store& store, Clock& clock);
  ~TimelineWatches();  // stops

  void Start() { worker_.Start(); }
  // Sends the watchers away: they may come back.
  void Stop();

  // `on_ready` as of EventFeed. Absent `after`: from now on.
  absl::StatusOr<std::shared_ptr<TimelineWatch>> Watch(Query query,
                                                       std::optional<v1::TimelinePosition> after,
                                                       std::function<void()> on_ready);

 private:
  class Watcher;

  absl::Time Step();
  std::vector<std::shared_ptr<Watcher>> Present() ABSL_LOCKS_EXCLUDED(mutex_);
  // True: there is more, and room for it.
  absl::StatusOr<bool> Feed(Watcher& watcher, const v1::TimelinePosition& newest);

  Store& store_;
  Clock& clock_;
  absl::Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::weak_ptr<Watcher>> watchers_ ABSL_GUARDED_BY(mutex_);
  Worker worker_;
};

}  // namespace muster::controller::timeline
