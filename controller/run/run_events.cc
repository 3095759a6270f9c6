#include "controller/run/run_events.h"

#include <algorithm>
#include <utility>

#include "muster/v1/run.pb.h"

namespace muster::controller {

uint64_t RunEventLog::ReserveSequence() {
  absl::MutexLock lock(&mutex_);
  return ++last_sequence_;
}

void RunEventLog::Append(v1::RunEvent event) {
  {
    absl::MutexLock lock(&mutex_);
    if (event.sequence() == 0) event.set_sequence(++last_sequence_);
    const auto place = std::upper_bound(
        kept_.begin(), kept_.end(), event.sequence(),
        [](uint64_t sequence, const Kept& kept) { return sequence < kept.sequence; });
    Kept kept = {event.sequence(), event.SerializeAsString()};
    kept_bytes_ += kept.event.size();
    kept_.insert(place, std::move(kept));
    while (kept_.size() > kMaxKept || kept_bytes_ > kMaxKeptBytes) {
      kept_bytes_ -= kept_.front().event.size();
      kept_.pop_front();
    }
  }
  Notify();
}

void RunEventLog::Progress(v1::RunEvent event) {
  event.set_sequence(0);
  const auto shared = std::make_shared<const v1::RunEvent>(std::move(event));
  {
    absl::MutexLock lock(&mutex_);
    const uint64_t newest = kept_.empty() ? 0 : kept_.back().sequence;
    for (const auto& weak : watches_) {
      const auto watch = weak.lock();
      if (watch == nullptr) continue;
      watch->log_->mutex_.AssertHeld();  // it is this log's
      // Progress that came before kept events would show a step after its end.
      if (watch->after_ < newest || watch->progress_.size() >= RunWatch::kMaxProgress) continue;
      watch->progress_.push_back(shared);
    }
  }
  Notify();
}

void RunEventLog::End() {
  {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
  }
  Notify();
}

size_t RunEventLog::size() const {
  absl::MutexLock lock(&mutex_);
  return kept_.size();
}

size_t RunEventLog::bytes() const {
  absl::MutexLock lock(&mutex_);
  return kept_bytes_;
}

void RunEventLog::Break() {
  {
    absl::MutexLock lock(&mutex_);
    broken_ = true;
  }
  Notify();
}

void RunEventLog::Notify() {
  std::vector<std::shared_ptr<RunLogWatch>> watches;
  {
    absl::MutexLock lock(&mutex_);
    auto gone = std::remove_if(watches_.begin(), watches_.end(),
                               [](const auto& weak) { return weak.expired(); });
    watches_.erase(gone, watches_.end());
    for (const auto& weak : watches_) {
      if (auto watch = weak.lock()) watches.push_back(std::move(watch));
    }
  }
  for (const auto& watch : watches) {
    absl::MutexLock lock(&watch->callback_mutex_);
    if (watch->on_ready_) watch->on_ready_();
  }
}

std::shared_ptr<RunWatch> RunEventLog::Watch(uint64_t after_sequence,
                                             std::function<void()> on_ready) {
  std::shared_ptr<RunLogWatch> watch(
      new RunLogWatch(shared_from_this(), after_sequence, std::move(on_ready)));
  absl::MutexLock lock(&mutex_);
  watches_.push_back(watch);
  return watch;
}

void RunLogs::Add(const std::string& run_id, std::shared_ptr<RunEventLog> log) {
  absl::MutexLock lock(&mutex_);
  logs_[run_id] = std::move(log);
}

void RunLogs::End(const std::string& run_id) {
  absl::MutexLock lock(&mutex_);
  ended_.push_back(run_id);
  size_t events = 0;
  size_t bytes = 0;
  for (const std::string& ended : ended_) {
    events += logs_[ended]->size();
    bytes += logs_[ended]->bytes();
  }
  while (ended_.size() > 1 &&
         (ended_.size() > kMaxEnded || events > kMaxEndedEvents || bytes > kMaxEndedBytes)) {
    events -= logs_[ended_.front()]->size();
    bytes -= logs_[ended_.front()]->bytes();
    logs_.erase(ended_.front());
    ended_.pop_front();
  }
}

std::shared_ptr<RunEventLog> RunLogs::Find(const std::string& run_id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = logs_.find(run_id);
  return found == logs_.end() ? nullptr : found->second;
}

void RunLogs::BreakAll() const {
  std::vector<std::shared_ptr<RunEventLog>> logs;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [run_id, log] : logs_) logs.push_back(log);
  }
  for (const auto& log : logs) log->Break();
}

RunEventPtr RunLogWatch::Next() {
  absl::MutexLock lock(&log_->mutex_);
  // Waiting progress is older than a kept event that came after it.
  if (!progress_.empty()) {
    RunEventPtr event = progress_.front();
    progress_.pop_front();
    return event;
  }
  const auto next = std::upper_bound(
      log_->kept_.begin(), log_->kept_.end(), after_,
      [](uint64_t sequence, const RunEventLog::Kept& kept) { return sequence < kept.sequence; });
  if (next == log_->kept_.end()) return nullptr;
  after_ = next->sequence;
  auto event = std::make_shared<v1::RunEvent>();
  event->ParseFromString(next->event);
  return event;
}

bool RunLogWatch::AtEnd() {
  absl::MutexLock lock(&log_->mutex_);
  return log_->ended_ && progress_.empty() &&
         (log_->kept_.empty() || log_->kept_.back().sequence <= after_);
}

bool RunLogWatch::IsBroken() {
  absl::MutexLock lock(&log_->mutex_);
  return log_->broken_;
}

void RunLogWatch::Cancel() {
  absl::MutexLock lock(&callback_mutex_);
  on_ready_ = nullptr;
}

}  // namespace muster::controller
