#include "controller/run/run_events.h"

#include <utility>
#include <vector>

namespace muster::controller {

void RunFeeds::Add(const std::string& run_id, std::shared_ptr<RunFeed> feed) {
  absl::MutexLock lock(&mutex_);
  feeds_[run_id] = std::move(feed);
}

void RunFeeds::End(const std::string& run_id) {
  absl::MutexLock lock(&mutex_);
  ended_.push_back(run_id);
  size_t events = 0;
  size_t bytes = 0;
  for (const std::string& ended : ended_) {
    events += feeds_[ended]->size();
    bytes += feeds_[ended]->bytes();
  }
  while (ended_.size() > 1 &&
         (ended_.size() > kMaxEnded || events > kMaxEndedEvents || bytes > kMaxEndedBytes)) {
    events -= feeds_[ended_.front()]->size();
    bytes -= feeds_[ended_.front()]->bytes();
    feeds_.erase(ended_.front());
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
