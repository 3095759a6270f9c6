// The events of a run, a validation or whatever else people watch, and their watchers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace muster::v1 {
class RolloutEvent;
class RunEvent;
class ValidationEvent;
}  // namespace muster::v1

namespace muster::controller {

// One watcher's place among the events. Bounded: a slow reader gets events late.
template <typename Event>
class EventWatch {
 public:
  virtual ~EventWatch() = default;
  // The next event; nullptr: none yet.
  virtual std::shared_ptr<const Event> Next() = 0;
  // What is watched has ended, and Next() has returned every event.
  virtual bool AtEnd() = 0;
  // The watcher is sent away: it may come back.
  virtual bool IsBroken() = 0;
  // After this returns, on_ready is not called any more; waits for a call in progress.
  virtual void Cancel() = 0;
};

// Which events a watcher is given.
enum class FeedPart {
  kAll,
  kChanges,  // without the results of steps that changed nothing
};

// What a feed remembers.
struct FeedRetention {
  size_t max_events = 0;
  size_t max_bytes = std::numeric_limits<size_t>::max();  // serialized
  // Keeps events for watchers that come later, and drops the oldest. Otherwise it keeps those that
  // a present watcher has not read, and sends a watcher away that falls too far behind; the last
  // event of an ended feed stays.
  bool is_for_later = false;
  // Passing events that may wait for one watcher; more are dropped.
  size_t max_passing = 0;
};

// The events of one thing in their order, numbered from 1. Thread-safe. Made with make_shared.
template <typename Event>
class EventFeed : public std::enable_shared_from_this<EventFeed<Event>> {
 public:
  // `last_sequence` is the highest one that an earlier process has assigned.
  explicit EventFeed(FeedRetention retention, uint64_t last_sequence = 0)
      : retention_(retention), last_sequence_(last_sequence) {}

  // Reserves sequences for events whose place in the order is stored before they are published.
  uint64_t ReserveSequence();
  // Gives the event the next sequence, unless it already has one, which must have been reserved.
  void Append(Event event);
  // The same for an event that is serialized and has its reserved sequence in it. `is_change`: see
  // FeedPart.
  void AppendSerialized(uint64_t sequence, bool is_change, std::string event);
  // Passes an event on and does not keep it, without a sequence; dropped for a watcher that does
  // not keep up.
  void Pass(Event event);
  // No more events follow; watchers reach the end after the last one.
  void End();
  // Disconnects the watchers, whatever they have not seen yet: they may come back elsewhere.
  void Break();

  // `on_ready` is called, from any thread and without locks of the feed, whenever Next() may have
  // something new; never after EventWatch::Cancel() has returned.
  std::shared_ptr<EventWatch<Event>> Watch(uint64_t after_sequence, std::function<void()> on_ready,
                                           FeedPart part = FeedPart::kAll);
  // From now on; the last event of a feed that has ended.
  std::shared_ptr<EventWatch<Event>> WatchFromNow(std::function<void()> on_ready);

  // The number of kept events and their total size.
  size_t size() const;
  size_t bytes() const;

 private:
  class Watcher;
  using Watchers = std::vector<std::shared_ptr<Watcher>>;
  // Serialized, which takes a quarter of the memory of the object: thousands of nodes have tens of
  // thousands of events, and few are ever watched twice.
  struct Kept {
    uint64_t sequence;
    bool is_change;  // see FeedPart
    std::string event;
  };

  std::shared_ptr<EventWatch<Event>> AddWatcher(uint64_t after, std::function<void()> on_ready,
                                                FeedPart part)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the watchers that are to be called.
  Watchers Keep(Kept event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The watchers that are still there; the mutex of their feed is this one's.
  Watchers Present() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops what need not be kept any more.
  void Trim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetGone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Not under the lock.
  static void Call(const Watchers& watchers);

  const FeedRetention retention_;
  mutable absl::Mutex mutex_;
  uint64_t last_sequence_ ABSL_GUARDED_BY(mutex_);
  std::deque<Kept> kept_ ABSL_GUARDED_BY(mutex_);
  size_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t dropped_up_to_ ABSL_GUARDED_BY(mutex_) = 0;  // for want of room
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_broken_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::weak_ptr<Watcher>> watchers_ ABSL_GUARDED_BY(mutex_);
};

// One row for each kind of feed.
extern template class EventFeed<v1::RolloutEvent>;
extern template class EventFeed<v1::RunEvent>;
extern template class EventFeed<v1::ValidationEvent>;

}  // namespace muster::controller
