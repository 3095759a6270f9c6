// Whether something is due again.
#pragma once

#include "absl/time/time.h"

namespace muster {

// Whether `interval` has passed since the time `since`. A time that has not come yet is from before
// the clock was set back, and counts as long ago: otherwise nothing would be due until it comes.
inline bool HasPassed(absl::Duration interval, absl::Time since, absl::Time now) {
  return now < since || now - since >= interval;
}

}  // namespace muster
