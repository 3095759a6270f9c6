// How patient package managers are with others.
#pragma once

#include "absl/time/time.h"

namespace muster::agent {

// After a name was not found the lists are fetched again, unless that was done just now.
inline constexpr absl::Duration kFreshEnough = absl::Minutes(5);
inline constexpr absl::Duration kLockPoll = absl::Seconds(1);
// Pause after a server answered with an error, longer with each try.
inline constexpr absl::Duration kServerPause = absl::Seconds(2);
inline constexpr int kMaxAttempts = 4;

}  // namespace muster::agent
