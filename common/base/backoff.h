// Exponential backoff with full jitter.
#pragma once

#include "absl/random/bit_gen_ref.h"
#include "absl/time/time.h"

namespace muster {

// The waits between attempts. Each is drawn uniformly from [0, min(cap, initial · 2^n)], so that
// thousands of clients that lost one server do not come back at once. Not thread-safe.
class Backoff {
 public:
  Backoff(absl::Duration initial, absl::Duration cap, absl::BitGenRef random);

  // The wait before the next attempt; each call doubles the ceiling until it reaches the cap.
  absl::Duration Next();
  // Call it after a success: starts again at `initial`, or at `spread` if that is longer; the cap
  // is then at least `spread`. The server sends the spread, since it knows how many will come at
  // once.
  void Reset(absl::Duration spread = absl::ZeroDuration());

 private:
  const absl::Duration initial_;
  const absl::Duration cap_;
  absl::BitGenRef random_;
  absl::Duration spread_;
  absl::Duration ceiling_;
};

}  // namespace muster
