#include "controller/timeline/timeline_watches.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/feed/ready_callback.h"
#include "controller/store/store.h"

namespace muster::controller::timeline {
namespace {

bool IsAt(const v1::TimelinePosition& a, const v1::TimelinePosition& b) {
  return a.audit() == b.audit() && a.health() == b.health() && a.boot() == b.boot();
}

}  // namespace

class TimelineWatches::Watcher final : public TimelineWatch {
 public:
  Watcher(Query query, v1::TimelinePosition position, std::function<void()> on_ready)
      : query(std::move(query)), position(std::move(position)), ready_(std::move(on_ready)) {}

  std::shared_ptr<const v1::TimelineEvent> Next() override {
    absl::MutexLock lock(&mutex_);
    if (waiting_.empty()) return nullptr;
    std::shared_ptr<const v1::TimelineEvent> event = std::move(waiting_.front());
    waiting_.pop_front();
    return event;
  }
  bool AtEnd() override { return false; }
  bool IsBroken() override {
    absl::MutexLock lock(&mutex_);
    return is_broken_;
  }
  void Cancel() override { ready_.Drop(); }

  size_t room() {
    absl::MutexLock lock(&mutex_);
    return kMaxWaiting - std::min(kMaxWaiting, waiting_.size());
  }
  void Push(std::vector<v1::TimelineEvent> events) {
    if (events.empty()) return;
    {
      absl::MutexLock lock(&mutex_);
      for (v1::TimelineEvent& event : events)
        waiting_.push_back(std::make_shared<const v1::TimelineEvent>(std::move(event)));
    }
    ready_.Call();
  }
  void Break() {
    {
      absl::MutexLock lock(&mutex_);
      is_broken_ = true;
    }
    ready_.Call();
  }

  const Query query;
  v1::TimelinePosition position;  // the worker's alone

 private:
  absl::Mutex mutex_;
  std::deque<std::shared_ptr<const v1::TimelineEvent>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool is_broken_ ABSL_GUARDED_BY(mutex_) = false;
  ReadyCallback ready_;
};

TimelineWatches::TimelineWatches(Store& store, Clock& clock)
    : store_(store), clock_(clock), worker_(clock, [this] { return Step(); }) {}

TimelineWatches::~TimelineWatches() { Stop(); }

void TimelineWatches::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  worker_.Stop();
  for (const auto& watcher : Present()) watcher->Break();
}

absl::StatusOr<std::shared_ptr<TimelineWatch>> TimelineWatches::Watch(
    Query query, std::optional<v1::TimelinePosition> after, std::function<void()> on_ready) {
  v1::TimelinePosition newest;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(newest, Newest(txn));
    return absl::OkStatus();
  }));
  v1::TimelinePosition position = newest;
  if (after.has_value()) {
    // A store that was restored from a backup has fewer entries than the watcher has seen.
    position.set_audit(std::min(after->audit(), newest.audit()));
    position.set_health(std::min(after->health(), newest.health()));
    position.set_boot(std::min(after->boot(), newest.boot()));
  }
  auto watcher =
      std::make_shared<Watcher>(std::move(query), std::move(position), std::move(on_ready));
  {
    absl::MutexLock lock(&mutex_);
    if (is_stopping_) return absl::UnavailableError("the controller is stopping");
    watchers_.push_back(watcher);
  }
  worker_.Wake();
  return watcher;
}

std::vector<std::shared_ptr<TimelineWatches::Watcher>> TimelineWatches::Present() {
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Watcher>> present;
  for (const auto& weak : watchers_) {
    if (auto watcher = weak.lock()) present.push_back(std::move(watcher));
  }
  watchers_.assign(present.begin(), present.end());
  return present;
}

absl::StatusOr<bool> TimelineWatches::Feed(Watcher& watcher, const v1::TimelinePosition& newest) {
  const size_t room = watcher.room();
  if (room == 0 || IsAt(watcher.position, newest)) return false;
  Page page;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(page, ReadForwards(txn, watcher.query, watcher.position,
                                        static_cast<uint32_t>(std::min<size_t>(room, kMaxEvents))));
    return absl::OkStatus();
  }));
  watcher.position = page.position;
  watcher.Push(std::move(page.events));
  return !page.is_last;
}

absl::Time TimelineWatches::Step() {
  const std::vector<std::shared_ptr<Watcher>> watchers = Present();
  if (watchers.empty()) return absl::InfiniteFuture();
  v1::TimelinePosition newest;
  const absl::Status looked = store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(newest, Newest(txn));
    return absl::OkStatus();
  });
  if (!looked.ok()) return clock_.Now() + kStoreRetry;
  bool is_more = false;
  for (const auto& watcher : watchers) {
    if (worker_.is_stopping()) break;
    const absl::StatusOr<bool> more = Feed(*watcher, newest);
    if (!more.ok()) return clock_.Now() + kStoreRetry;
    is_more = is_more || *more;
  }
  return clock_.Now() + (is_more ? absl::ZeroDuration() : kLook);
}

}  // namespace muster::controller::timeline
