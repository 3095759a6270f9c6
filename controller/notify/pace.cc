#include "controller/notify/pace.h"

namespace muster::controller::notify {

absl::Time Pace::Next(absl::Time now) {
  // A time that has not come yet is of before the clock was set back.
  while (!sent_.empty() && (sent_.front() > now || now - sent_.front() >= kSpan)) sent_.pop_front();
  return sent_.size() < kMaxMessages ? now : sent_.front() + kSpan;
}

}  // namespace muster::controller::notify
