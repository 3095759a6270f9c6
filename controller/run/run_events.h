// What the watchers of one run see.
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

// One watcher's place among the events of a run. Bounded: whoever reads slowly gets events late.
class RunWatch {
 public:
  // Progress that waits for one watcher; more is lost.
  static constexpr size_t kMaxProgress = 64;

  virtual ~RunWatch() = default;
  // The next event; nullptr: none now.
  virtual RunEventPtr Next() = 0;
  // The run has ended and Next() has given everything.
  virtual bool AtEnd() = 0;
  virtual bool IsBroken() = 0;
  // No call of on_ready begins after this; waits for one that is going on.
  virtual void Cancel() = 0;
};

class RunLogWatch;

// The events of one run in their order. Keeps the newest, at most kMaxKept of at most
// kMaxKeptBytes; progress is passed on and not kept. Thread-safe.
class RunEventLog : public std::enable_shared_from_this<RunEventLog> {
 public:
  static constexpr size_t kMaxKept = 50'000;
  // A result is some hundred bytes; with what a program printed it may be a thousand times that.
  static constexpr size_t kMaxKeptBytes = size_t{64} << 20;

  // `last_sequence`: the highest one given out before, by an earlier process.
  explicit RunEventLog(uint64_t last_sequence) : last_sequence_(last_sequence) {}

  // Takes sequences for events whose place in the order is stored before they are published.
  uint64_t ReserveSequence();
  // Gives the event the next sequence unless it has one already, which must be a reserved one.
  void Append(v1::RunEvent event);
  // Sequence 0: dropped for a watcher that does not keep up.
  void Progress(v1::RunEvent event);
  // No more events; watchers see the end after the last one.
  void End();
  // Watchers are sent away, whatever they have not seen yet: they may come back elsewhere.
  void Break();

  // `on_ready` is called, from any thread and without locks of the log, whenever Next() may have
  // something new; never after RunWatch::Cancel() has returned.
  std::shared_ptr<RunWatch> Watch(uint64_t after_sequence, std::function<void()> on_ready);
  // How many events are kept, and how long they are together.
  size_t size() const;
  size_t bytes() const;

 private:
  friend class RunLogWatch;
  // As it travels, which is a quarter of what it takes as an object: thousands of nodes have tens
  // of thousands of events, and few are ever watched twice.
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

// The logs of the runs that go on and of those that ended last, to be found without waiting for the
// engine. Thread-safe.
class RunLogs {
 public:
  void Add(const std::string& run_id, std::shared_ptr<RunEventLog> log);
  // The run has ended: its log is kept until kMaxEnded others have, or until later ones have
  // kMaxEndedEvents or kMaxEndedBytes. Then RunHistory reads it from the store when somebody asks.
  void End(const std::string& run_id);
  // nullptr: of no such run.
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

// A watcher's place in a log: kept events come late to a slow reader, progress is lost.
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
