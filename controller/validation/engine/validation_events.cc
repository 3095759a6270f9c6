#include "controller/validation/engine/validation_events.h"

#include <algorithm>
#include <utility>

#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

void ValidationEvents::Publish(v1::ValidationEvent event, bool may_be_lost) {
  const auto shared = std::make_shared<const v1::ValidationEvent>(std::move(event));
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& weak : watches_) {
      const auto watch = weak.lock();
      if (watch == nullptr) continue;
      watch->events_->mutex_.AssertHeld();
      if (may_be_lost && watch->waiting_.size() >= ValidationWatch::kMaxLost) continue;
      if (watch->waiting_.size() >= ValidationWatch::kMaxWaiting) {
        watch->overrun_ = true;
        continue;
      }
      watch->waiting_.push_back(shared);
    }
  }
  Notify();
}

void ValidationEvents::Finish(v1::ValidationEvent event) {
  {
    absl::MutexLock lock(&mutex_);
    last_ = std::make_shared<const v1::ValidationEvent>(std::move(event));
    for (const auto& weak : watches_) {
      const auto watch = weak.lock();
      if (watch == nullptr) continue;
      watch->events_->mutex_.AssertHeld();
      watch->waiting_.push_back(last_);
    }
  }
  Notify();
}

void ValidationEvents::Break() {
  {
    absl::MutexLock lock(&mutex_);
    broken_ = true;
  }
  Notify();
}

void ValidationEvents::Notify() {
  std::vector<std::shared_ptr<ValidationWatch>> watches;
  {
    absl::MutexLock lock(&mutex_);
    watches_.erase(std::remove_if(watches_.begin(), watches_.end(),
                                  [](const auto& weak) { return weak.expired(); }),
                   watches_.end());
    for (const auto& weak : watches_) {
      if (auto watch = weak.lock()) watches.push_back(std::move(watch));
    }
  }
  for (const auto& watch : watches) {
    absl::MutexLock lock(&watch->callback_mutex_);
    if (watch->on_ready_) watch->on_ready_();
  }
}

std::shared_ptr<ValidationWatch> ValidationEvents::Watch(std::function<void()> on_ready) {
  std::shared_ptr<ValidationWatch> watch(
      new ValidationWatch(shared_from_this(), std::move(on_ready)));
  absl::MutexLock lock(&mutex_);
  watch->events_->mutex_.AssertHeld();
  if (last_ != nullptr) watch->waiting_.push_back(last_);
  watches_.push_back(watch);
  return watch;
}

ValidationEventPtr ValidationWatch::Next() {
  absl::MutexLock lock(&events_->mutex_);
  if (waiting_.empty()) return nullptr;
  ValidationEventPtr event = std::move(waiting_.front());
  waiting_.pop_front();
  return event;
}

bool ValidationWatch::AtEnd() {
  absl::MutexLock lock(&events_->mutex_);
  return events_->last_ != nullptr && waiting_.empty();
}

bool ValidationWatch::IsBroken() {
  absl::MutexLock lock(&events_->mutex_);
  return events_->broken_ || overrun_;
}

void ValidationWatch::Cancel() {
  absl::MutexLock lock(&callback_mutex_);
  on_ready_ = nullptr;
}

}  // namespace muster::controller::validation
