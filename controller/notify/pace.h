// How often a channel speaks. Pure.
#pragma once

#include <cstddef>
#include <deque>

#include "absl/time/time.h"

namespace muster::controller::notify {

// At most kMaxMessages messages in each kSpan: what waits meanwhile goes into the next one
// together.
class Pace {
 public:
  static constexpr size_t kMaxMessages = 20;
  static constexpr absl::Duration kSpan = absl::Minutes(1);

  // When the next message may be sent: `now`, or later.
  absl::Time Next(absl::Time now);
  // A message was sent.
  void Sent(absl::Time now) { sent_.push_back(now); }

 private:
  std::deque<absl::Time> sent_;  // in the last kSpan
};

}  // namespace muster::controller::notify
