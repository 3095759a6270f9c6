// The events that the watchers of one run see.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace muster::v1 {
class RunEvent;
}

namespace muster::controller {

using RunEventPtr = std::shared_ptr<const v1::RunEvent>;

// One watcher's place among the events of a run. Bounded: a slow reader gets events late.
class RunWatch {
 public:
  // The number of progress events that may wait for one watcher; more are dropped.
  static constexpr size_t kMaxProgress = 64;

  virtual ~RunWatch() = default;
  // The next event; nullptr: none yet.
  virtual RunEventPtr Next() = 0;
  // The run has ended and Next() has returned every event.
  virtual bool AtEnd() = 0;
  virtual bool IsBroken() = 0;
  // After this returns, on_ready is not called any more; waits for a call in progress.
  virtual void Cancel() = 0;
};

class RunLogWatch;

// The events of one run in their order. Keeps the newest, at most kMaxKept of at most
// kMaxKeptBytes; progress is passed on and not kept. Thread-safe.
class RunEventLog : public std::enable_shared_from_this<RunEventLog> {
 public:
  static constexpr size_t kMaxKept = 50'000;
  // A result takes some hundred bytes; with a program's output it may take a thousand times that.
  static constexpr size_t kMaxKeptBytes = size_t{64} << 20;

  // `last_sequence` is the highest one that an earlier process has assigned.
  explicit RunEventLog(uint64_t last_sequence) : last_sequence_(last_sequence) {}

  // Reserves sequences for events whose place in the order is stored before they are published.
  uint64_t ReserveSequence();
  // Gives the event the next sequence, unless it already has one, which must have been reserved.
  void Append(v1::RunEvent event);
  // Has sequence 0; dropped for a watcher that does not keep up.
  void Progress(v1::RunEvent event);
  // No more events follow; watchers reach the end after the last one.
  void End();
  // Disconnects the watchers, whatever they have not seen yet: they may come back elsewhere.
  void Break();

  // `on_ready` is called, from any thread and without locks of the log, whenever Next() may have
  // something new; never after RunWatch::Cancel() has returned.
  std::shared_ptr<RunWatch> Watch(uint64_t after_sequence, std::function<void()> on_ready);
  // The number of kept events and their total size.
  size_t size() const;
  size_t bytes() const;

 private:
  friend class RunLogWatch;
  // Serialized, which takes a quarter of the memory of the object: thousands of nodes have tens of
  // thousands of events, and few are ever watched twice.
  struct Kept {
    uint64_t sequence;
    std::string event;  // a serialized v1::RunEvent
  };
  void Notify() ABSL_LOCKS_EXCLUDED(mutex_);

  mutable absl::Mutex mutex_;
  uint64_t last_sequence_ ABSL_GUARDED_BY(mutex_);
  std::deque<Kept> kept_ ABSL_GUARDED_BY(mutex_);
  size_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::weak_ptr<RunLogWatch>> watches_ ABSL_GUARDED_BY(mutex_);
};

// The logs of active runs and of those that ended last, which can be found without waiting for the
// engine. Thread-safe.
class RunLogs {
 public:
  void Add(const std::string& run_id, std::shared_ptr<RunEventLog> log);
  // The run has ended: its log is kept until kMaxEnded others have ended, or until later ones hold
  // kMaxEndedEvents or kMaxEndedBytes. After that RunHistory reads it from the store on demand.
  void End(const std::string& run_id);
  // nullptr: there is no log of such a run.
  std::shared_ptr<RunEventLog> Find(const std::string& run_id) const;
  void BreakAll() const;

 private:
  static constexpr size_t kMaxEnded = 16;
  static constexpr size_t kMaxEndedEvents = 20'000;
  static constexpr size_t kMaxEndedBytes = RunEventLog::kMaxKeptBytes;

  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<RunEventLog>> logs_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> ended_ ABSL_GUARDED_BY(mutex_);
};

// A watcher's place in a log: a slow reader gets kept events late and loses progress.
class RunLogWatch final : public RunWatch {
 public:
  RunEventPtr Next() override;
  bool AtEnd() override;
  bool IsBroken() override;
  void Cancel() override;

 private:
  friend class RunEventLog;
  RunLogWatch(std::shared_ptr<RunEventLog> log, uint64_t after, std::function<void()> on_ready)
      : log_(std::move(log)), after_(after), on_ready_(std::move(on_ready)) {}

  const std::shared_ptr<RunEventLog> log_;
  uint64_t after_ ABSL_GUARDED_BY(log_->mutex_);
  std::deque<RunEventPtr> progress_ ABSL_GUARDED_BY(log_->mutex_);
  absl::Mutex callback_mutex_;
  std::function<void()> on_ready_ ABSL_GUARDED_BY(callback_mutex_);
};

}  // namespace muster::controller
