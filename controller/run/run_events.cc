#include "controller/run/run_events.h"

#include <utility>
#include <vector>

namespace muster::controller {

void RunFeeds::Add(const std::string& run_id, std::shared_ptr<RunFeed> feed) {
  absl::MutexLock lock(&mutex_);
  feeds_[run_id] = std::move(feed);
}

void RunFeeds::End(const std::string& run_id, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  ended_.push_back({run_id, now});
  Trim(now);
}

void RunFeeds::Forget(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  Trim(now);
}

void RunFeeds::Trim(absl::Time now) {
  size_t events = 0;
  size_t bytes = 0;
  for (const Ended& ended : ended_) {
    events += feeds_[ended.run_id]->size();
    bytes += feeds_[ended.run_id]->bytes();
  }
  while (!ended_.empty()) {
    const Ended& oldest = ended_.front();
    const bool has_later = ended_.size() > 1;
    const bool is_too_much =
        ended_.size() > kMaxEnded || events > kMaxEndedEvents || bytes > kMaxEndedBytes;
    if (now - oldest.at < kKeepEnded && !(has_later && is_too_much)) return;
    events -= feeds_[oldest.run_id]->size();
    bytes -= feeds_[oldest.run_id]->bytes();
    feeds_.erase(oldest.run_id);
    ended_.pop_front();
  }
}

std::shared_ptr<RunFeed> RunFeeds::Find(const std::string& run_id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = feeds_.find(run_id);
  return found == feeds_.end() ? nullptr : found->second;
}

void RunFeeds::BreakAll() const {
  std::vector<std::shared_ptr<RunFeed>> feeds;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [run_id, feed] : feeds_) feeds.push_back(feed);
  }
  for (const auto& feed : feeds) feed->Break();
}

}  // namespace muster::controller
