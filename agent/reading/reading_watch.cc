#include "agent/reading/reading_watch.h"

#include <algorithm>
#include <utility>

#include "common/base/clock.h"
#include "common/base/proto_time.h"

namespace muster::agent {

ReadingWatch::ReadingWatch(std::function<v1::NodeReadings()> read, std::function<void()> wake,
                           Clock& clock)
    : read_(std::move(read)),
      wake_(std::move(wake)),
      clock_(clock),
      worker_(clock, [this] { return Step(); }) {}

void ReadingWatch::OnRequest(const v1::WatchReadings& request) {
  const absl::Duration lease =
      std::clamp(ToDuration(request.lease()), absl::ZeroDuration(), kLongestLease);
  {
    absl::MutexLock lock(&mutex_);
    interval_ = std::max(ToDuration(request.interval()), kShortestInterval);
    until_ = clock_.Now() + lease;
    // A longer interval of before must not delay what is wanted now.
    next_ = std::min(next_, clock_.Now() + interval_);
  }
  worker_.Wake();
}

void ReadingWatch::OnDisconnected() {
  absl::MutexLock lock(&mutex_);
  until_ = absl::InfinitePast();
  due_.clear();
}

std::vector<v1::AgentMessage> ReadingWatch::TakeDue() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(due_, {});
}

absl::Time ReadingWatch::Step() {
  const absl::Time now = clock_.Now();
  {
    absl::MutexLock lock(&mutex_);
    if (now >= until_) return absl::InfiniteFuture();
    if (now < next_) return next_;
    next_ = now + interval_;
  }
  v1::AgentMessage message;
  *message.mutable_readings() = read_();
  bool is_wanted = false;
  {
    absl::MutexLock lock(&mutex_);
    is_wanted = clock_.Now() < until_;
    due_.clear();
    if (is_wanted) due_.push_back(std::move(message));
  }
  if (is_wanted) wake_();
  return absl::InfinitePast();
}

}  // namespace muster::agent
