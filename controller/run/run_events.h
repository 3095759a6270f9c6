// The events that the watchers of runs see.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/feed/event_feed.h"

namespace muster::controller {

using RunEventPtr = std::shared_ptr<const v1::RunEvent>;
using RunWatch = EventWatch<v1::RunEvent>;
using RunFeed = EventFeed<v1::RunEvent>;

// A result takes some hundred bytes; with a program's output it may take a thousand times that.
inline constexpr FeedRetention kRunRetention = {
    .max_events = 50'000, .max_bytes = size_t{64} << 20, .is_for_later = true, .max_passing = 64};

// The feeds of active runs and of those that ended last, which can be found without waiting for the
// engine. Thread-safe.
class RunFeeds {
 public:
  static constexpr absl::Duration kKeepEnded = absl::Minutes(10);
  static constexpr size_t kMaxEnded = 16;
  static constexpr size_t kMaxEndedEvents = 20'000;
  static constexpr size_t kMaxEndedBytes = kRunRetention.max_bytes;

  void Add(const std::string& run_id, std::shared_ptr<RunFeed> feed);
  // The run has ended: its feed is kept for kKeepEnded, at most until kMaxEnded others have ended,
  // or until later ones hold kMaxEndedEvents or kMaxEndedBytes. After that RunHistory reads it from
  // the store on demand.
  void End(const std::string& run_id, absl::Time now);
  // Lets feeds go whose time is over; call now and then. Those who watch one read on.
  void Forget(absl::Time now);
  // nullptr: there is no feed of such a run.
  std::shared_ptr<RunFeed> Find(const std::string& run_id) const;
  void BreakAll() const;

 private:
  struct Ended {
    std::string run_id;
    absl::Time at;
  };
  void Trim(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<RunFeed>> feeds_ ABSL_GUARDED_BY(mutex_);
  std::deque<Ended> ended_ ABSL_GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace muster::controller
