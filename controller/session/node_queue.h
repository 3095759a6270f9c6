// What nodes have said and nobody has handled yet.
#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace muster::controller {

// The limits of one queue; bytes are those in memory.
struct NodeQueueLimits {
  size_t events_of_node = 0;
  size_t bytes_of_node = 0;
  size_t bytes = std::numeric_limits<size_t>::max();  // of all nodes together
};

// Events in the order in which they came, of which each node may have its share: one that floods
// the controller is neither remembered without end nor in the way of others. Thread-safe.
template <typename Event>
class NodeQueue {
  struct Entry {
    std::string node;  // empty: nobody is charged
    size_t bytes = 0;
    Event event;
  };

 public:
  // The events that were taken. They count to their nodes' shares until the batch goes.
  class Batch {
   public:
    Batch(Batch&& other)
        : queue_(std::exchange(other.queue_, nullptr)), entries_(std::move(other.entries_)) {}
    Batch& operator=(Batch&&) = delete;
    ~Batch() {
      if (queue_ != nullptr) queue_->Release(entries_);
    }

    bool empty() const { return entries_.empty(); }
    // Calls `handle` with each event, which it may move from.
    template <typename Handle>
    void ForEach(Handle handle) {
      for (Entry& entry : entries_) handle(entry.event);
    }

   private:
    friend class NodeQueue;
    explicit Batch(NodeQueue* queue) : queue_(queue) {}

    NodeQueue* queue_;  // nullptr: moved from
    std::deque<Entry> entries_;
  };

  explicit NodeQueue(NodeQueueLimits limits) : limits_(limits) {}

  // Takes an event that no node is charged for.
  void Push(Event event) {
    absl::MutexLock lock(&mutex_);
    entries_.push_back({"", 0, std::move(event)});
  }

  // Takes an event of `bytes` if it is within the node's share, or within 1/`part` of it: what may
  // be lost leaves room for what must not.
  [[nodiscard]] bool PushOf(absl::string_view node, size_t bytes, Event event, size_t part = 1) {
    absl::MutexLock lock(&mutex_);
    const auto found = shares_.try_emplace(node).first;
    Share& share = found->second;
    if (share.events >= limits_.events_of_node / part ||
        share.bytes + bytes > limits_.bytes_of_node / part ||
        bytes_ + bytes > limits_.bytes / part) {
      if (share.events == 0) shares_.erase(found);
      return false;
    }
    ++share.events;
    share.bytes += bytes;
    bytes_ += bytes;
    entries_.push_back({std::string(node), bytes, std::move(event)});
    return true;
  }

  size_t size() const {
    absl::MutexLock lock(&mutex_);
    return entries_.size();
  }

  // All that came, in its order.
  Batch Take() {
    Batch batch(this);
    absl::MutexLock lock(&mutex_);
    batch.entries_.swap(entries_);
    return batch;
  }

 private:
  struct Share {
    size_t events = 0;
    size_t bytes = 0;
  };

  void Release(const std::deque<Entry>& entries) {
    absl::MutexLock lock(&mutex_);
    for (const Entry& entry : entries) {
      if (entry.node.empty()) continue;
      const auto share = shares_.find(entry.node);
      bytes_ -= entry.bytes;
      share->second.bytes -= entry.bytes;
      if (--share->second.events == 0) shares_.erase(share);
    }
  }

  const NodeQueueLimits limits_;
  mutable absl::Mutex mutex_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Share> shares_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::controller
