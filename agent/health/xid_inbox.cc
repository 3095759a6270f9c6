#include "agent/health/xid_inbox.h"

#include <utility>

namespace muster::agent::health {

void XidInbox::SetWake(std::function<void()> wake) {
  absl::MutexLock lock(&mutex_);
  wake_ = std::move(wake);
}

void XidInbox::SetListening(bool is_listening) {
  absl::MutexLock lock(&mutex_);
  is_listening_ = is_listening;
}

bool XidInbox::is_listening() const {
  absl::MutexLock lock(&mutex_);
  return is_listening_;
}

void XidInbox::Add(absl::string_view line) {
  absl::MutexLock lock(&mutex_);
  if (lines_.size() < kMaxLines) lines_.emplace_back(line);
  if (wake_) wake_();
}

std::vector<std::string> XidInbox::Take() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(lines_, {});
}

}  // namespace muster::agent::health
