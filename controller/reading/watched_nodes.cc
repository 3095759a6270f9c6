#include "controller/reading/watched_nodes.h"

#include <algorithm>

#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {
namespace {

constexpr absl::Duration kShortest = absl::Seconds(2);
constexpr size_t kReadingsPerSecond = 500;
// An agent grants no more (agent/reading/reading_watch.h).
constexpr absl::Duration kLongestLease = absl::Minutes(2);
// An agent takes no less than a second; what comes faster is not from one of ours.
constexpr absl::Duration kTooFast = absl::Milliseconds(500);

}  // namespace

absl::Duration WatchedNodes::IntervalFor(size_t watched_nodes) {
  return std::max(kShortest, absl::Seconds(static_cast<double>(watched_nodes) /
                                           static_cast<double>(kReadingsPerSecond)));
}

void WatchedNodes::Forget(absl::Time now) {
  absl::erase_if(watched_, [&](const auto& row) { return row.second.until < now; });
}

std::vector<WatchedReadings> WatchedNodes::Ask(absl::Span<const std::string> uuids,
                                               bool with_history) {
  const absl::Time now = clock_.Now();
  std::vector<WatchedReadings> answer;
  answer.reserve(uuids.size());
  std::vector<std::string> to_ask;
  v1::ControllerMessage message;
  {
    absl::MutexLock lock(&mutex_);
    Forget(now);
    for (const std::string& uuid : uuids) watched_[uuid].until = now;
    // Whoever asks for thousands asks again as rarely as they measure.
    const absl::Duration interval = IntervalFor(watched_.size());
    const absl::Duration patience = std::max(kPatience, 3 * interval);
    const absl::Duration lease = std::clamp(2 * patience, kLease, kLongestLease);
    for (const std::string& uuid : uuids) {
      Watched& watched = watched_[uuid];
      watched.until = now + patience;
      if (with_history) watched.history_until = watched.until;
      if (watched.asked_until - now < lease / 2) {
        watched.asked_until = now + lease;
        to_ask.push_back(uuid);
      }
      WatchedReadings& row = answer.emplace_back();
      if (!watched.kept.empty()) row.newest = watched.kept.back();
      if (with_history) row.history.assign(watched.kept.begin(), watched.kept.end());
    }
    v1::WatchReadings& order = *message.mutable_watch_readings();
    *order.mutable_interval() = ToProtoDuration(interval);
    *order.mutable_lease() = ToProtoDuration(lease);
  }
  // Not under the lock, which sessions take first when they hand something over.
  std::vector<std::string> unheard;
  for (const std::string& uuid : to_ask) {
    if (!sessions_.Send(uuid, message).ok()) unheard.push_back(uuid);
  }
  {
    absl::MutexLock lock(&mutex_);
    for (const std::string& uuid : unheard) {
      if (const auto found = watched_.find(uuid); found != watched_.end())
        found->second.asked_until = absl::InfinitePast();
    }
  }
  for (size_t i = 0; i < uuids.size(); ++i)
    answer[i].is_connected = sessions_.IsConnected(uuids[i]);
  return answer;
}

absl::Duration WatchedNodes::interval() const {
  absl::MutexLock lock(&mutex_);
  return IntervalFor(watched_.size());
}

void WatchedNodes::OnConnected(absl::string_view node_uuid, const v1::Hello&) {
  absl::MutexLock lock(&mutex_);
  const auto found = watched_.find(node_uuid);
  if (found != watched_.end()) found->second.asked_until = absl::InfinitePast();
}

void WatchedNodes::OnDisconnected(absl::string_view node_uuid) {
  absl::MutexLock lock(&mutex_);
  const auto found = watched_.find(node_uuid);
  if (found != watched_.end()) found->second.kept.clear();
}

void WatchedNodes::OnReadings(absl::string_view node_uuid, const v1::NodeReadings& readings) {
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&mutex_);
  const auto found = watched_.find(node_uuid);
  if (found == watched_.end()) return;
  Watched& watched = found->second;
  if (watched.until < now) {
    watched_.erase(found);
    return;
  }
  if (!watched.kept.empty() && now - watched.kept.back().at < kTooFast) return;
  watched.kept.push_back({now, std::make_shared<const v1::NodeReadings>(readings)});
  const size_t kept = watched.history_until < now ? 1 : kMaxHistory;
  while (watched.kept.size() > kept) watched.kept.pop_front();
}

}  // namespace muster::controller
