#include "controller/feed/event_feed.h"

#include <algorithm>

#include "common/value/step_status.h"
#include "controller/feed/ready_callback.h"
#include "muster/v1/rollout.pb.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller {
namespace {

// Whether watchers see the sequence of an event, so as to come back to their place.
uint64_t SequenceIn(const v1::RolloutEvent& event) { return event.sequence(); }
void SetSequence(v1::RolloutEvent& event, uint64_t sequence) { event.set_sequence(sequence); }
uint64_t SequenceIn(const v1::RunEvent& event) { return event.sequence(); }
void SetSequence(v1::RunEvent& event, uint64_t sequence) { event.set_sequence(sequence); }
uint64_t SequenceIn(const v1::ValidationEvent&) { return 0; }
void SetSequence(v1::ValidationEvent&, uint64_t) {}

bool IsChange(const v1::RunEvent& event) {
  return !event.has_step() || !IsUnchanged(event.step().status());
}
bool IsChange(const v1::RolloutEvent&) { return true; }
bool IsChange(const v1::ValidationEvent&) { return true; }

}  // namespace

template <typename Event>
class EventFeed<Event>::Watcher final : public EventWatch<Event> {
 public:
  Watcher(std::shared_ptr<EventFeed> feed, uint64_t after, std::function<void()> on_ready,
          FeedPart part)
      : feed_(std::move(feed)), part_(part), after_(after), ready_(std::move(on_ready)) {}

  std::shared_ptr<const Event> Next() override {
    absl::MutexLock lock(&feed_->mutex_);
    // Waiting passing events are older than a kept one that came after them.
    if (!passing_.empty()) {
      std::shared_ptr<const Event> event = std::move(passing_.front());
      passing_.pop_front();
      return event;
    }
    auto next = std::upper_bound(
        feed_->kept_.begin(), feed_->kept_.end(), after_,
        [](uint64_t sequence, const Kept& kept) { return sequence < kept.sequence; });
    for (; next != feed_->kept_.end(); ++next) {
      after_ = next->sequence;
      if (!Wants(next->is_change)) continue;
      auto event = std::make_shared<Event>();
      event->ParseFromString(next->event);
      feed_->Trim();
      return event;
    }
    return nullptr;
  }
  bool AtEnd() override {
    absl::MutexLock lock(&feed_->mutex_);
    return feed_->has_ended_ && passing_.empty() &&
           (feed_->kept_.empty() || feed_->kept_.back().sequence <= after_);
  }
  bool IsBroken() override {
    absl::MutexLock lock(&feed_->mutex_);
    return feed_->is_broken_ || (!feed_->retention_.is_for_later && after_ < feed_->dropped_up_to_);
  }
  void Cancel() override { ready_.Drop(); }

  void Call() { ready_.Call(); }
  bool Wants(bool is_change) const { return is_change || part_ == FeedPart::kAll; }

 private:
  friend class EventFeed;
  const std::shared_ptr<EventFeed> feed_;
  const FeedPart part_;
  uint64_t after_ ABSL_GUARDED_BY(feed_->mutex_);
  std::deque<std::shared_ptr<const Event>> passing_ ABSL_GUARDED_BY(feed_->mutex_);
  ReadyCallback ready_;
};

template <typename Event>
uint64_t EventFeed<Event>::ReserveSequence() {
  absl::MutexLock lock(&mutex_);
  return ++last_sequence_;
}

template <typename Event>
void EventFeed<Event>::Append(Event event) {
  Watchers watchers;
  {
    absl::MutexLock lock(&mutex_);
    uint64_t sequence = SequenceIn(event);
    if (sequence == 0) {
      sequence = ++last_sequence_;
      SetSequence(event, sequence);
    }
    watchers = Keep({sequence, IsChange(event), event.SerializeAsString()});
  }
  Call(watchers);
}

template <typename Event>
void EventFeed<Event>::AppendSerialized(uint64_t sequence, bool is_change, std::string event) {
  Watchers watchers;
  {
    absl::MutexLock lock(&mutex_);
    watchers = Keep({sequence, is_change, std::move(event)});
  }
  Call(watchers);
}

template <typename Event>
typename EventFeed<Event>::Watchers EventFeed<Event>::Keep(Kept event) {
  Watchers wanting;
  const uint64_t newest = kept_.empty() ? 0 : kept_.back().sequence;
  for (auto& watcher : Present()) {
    if (watcher->Wants(event.is_change)) {
      wanting.push_back(std::move(watcher));
      continue;
    }
    // A watcher that is up to date stays so after an event that it does not want.
    watcher->feed_->mutex_.AssertHeld();
    if (watcher->after_ >= newest) watcher->after_ = std::max(watcher->after_, event.sequence);
  }
  const auto place =
      std::upper_bound(kept_.begin(), kept_.end(), event.sequence,
                       [](uint64_t wanted, const Kept& kept) { return wanted < kept.sequence; });
  kept_bytes_ += event.event.size();
  kept_.insert(place, std::move(event));
  Trim();
  return wanting;
}

template <typename Event>
typename EventFeed<Event>::Watchers EventFeed<Event>::Present() const {
  Watchers present;
  for (const auto& weak : watchers_) {
    if (auto watcher = weak.lock()) present.push_back(std::move(watcher));
  }
  return present;
}

template <typename Event>
void EventFeed<Event>::Call(const Watchers& watchers) {
  for (const auto& watcher : watchers) watcher->Call();
}

template <typename Event>
void EventFeed<Event>::Trim() {
  const auto drop_oldest = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    kept_bytes_ -= kept_.front().event.size();
    kept_.pop_front();
  };
  while (kept_.size() > retention_.max_events || kept_bytes_ > retention_.max_bytes) {
    dropped_up_to_ = kept_.front().sequence;
    drop_oldest();
  }
  if (retention_.is_for_later) return;
  uint64_t read_by_all = last_sequence_;
  for (const auto& watcher : Present()) {
    watcher->feed_->mutex_.AssertHeld();
    read_by_all = std::min(read_by_all, watcher->after_);
  }
  // One stays: it may be the last of all.
  while (kept_.size() > 1 && kept_.front().sequence <= read_by_all) drop_oldest();
}

template <typename Event>
void EventFeed<Event>::Pass(Event event) {
  SetSequence(event, 0);
  const auto shared = std::make_shared<const Event>(std::move(event));
  Watchers watchers;
  {
    absl::MutexLock lock(&mutex_);
    const uint64_t newest = kept_.empty() ? 0 : kept_.back().sequence;
    watchers = Present();
    for (const auto& watcher : watchers) {
      watcher->feed_->mutex_.AssertHeld();
      // One that came before kept events would show a step after its end.
      if (watcher->after_ < newest || watcher->passing_.size() >= retention_.max_passing) continue;
      watcher->passing_.push_back(shared);
    }
  }
  Call(watchers);
}

template <typename Event>
void EventFeed<Event>::End() {
  Watchers watchers;
  {
    absl::MutexLock lock(&mutex_);
    has_ended_ = true;
    watchers = Present();
  }
  Call(watchers);
}

template <typename Event>
void EventFeed<Event>::Break() {
  Watchers watchers;
  {
    absl::MutexLock lock(&mutex_);
    is_broken_ = true;
    watchers = Present();
  }
  Call(watchers);
}

template <typename Event>
void EventFeed<Event>::ForgetGone() {
  watchers_.erase(std::remove_if(watchers_.begin(), watchers_.end(),
                                 [](const auto& weak) { return weak.expired(); }),
                  watchers_.end());
}

template <typename Event>
std::shared_ptr<EventWatch<Event>> EventFeed<Event>::AddWatcher(uint64_t after,
                                                                std::function<void()> on_ready,
                                                                FeedPart part) {
  auto watcher =
      std::make_shared<Watcher>(this->shared_from_this(), after, std::move(on_ready), part);
  ForgetGone();
  watchers_.push_back(watcher);
  return watcher;
}

template <typename Event>
std::shared_ptr<EventWatch<Event>> EventFeed<Event>::Watch(uint64_t after_sequence,
                                                           std::function<void()> on_ready,
                                                           FeedPart part) {
  absl::MutexLock lock(&mutex_);
  return AddWatcher(after_sequence, std::move(on_ready), part);
}

template <typename Event>
std::shared_ptr<EventWatch<Event>> EventFeed<Event>::WatchFromNow(std::function<void()> on_ready) {
  absl::MutexLock lock(&mutex_);
  const bool has_last = has_ended_ && last_sequence_ > 0;
  return AddWatcher(last_sequence_ - has_last, std::move(on_ready), FeedPart::kAll);
}

template <typename Event>
size_t EventFeed<Event>::size() const {
  absl::MutexLock lock(&mutex_);
  return kept_.size();
}

template <typename Event>
size_t EventFeed<Event>::bytes() const {
  absl::MutexLock lock(&mutex_);
  return kept_bytes_;
}

template class EventFeed<v1::RolloutEvent>;
template class EventFeed<v1::RunEvent>;
template class EventFeed<v1::ValidationEvent>;

}  // namespace muster::controller
