// Keeps a condition from changing with every flicker of what it is made from.
#pragma once

#include "absl/time/time.h"
#include "agent/health/finding.h"

namespace muster::agent::health {

// The state of one condition, well at first. What is bad stays bad until it has been seen well long
// enough; not being able to look does not end it. Time counts only between two looks, and no more
// of it than `longest_step`: a clock that is set makes nothing bad or good. Pure.
class Hysteresis {
 public:
  Hysteresis() = default;
  // What was held and seen before.
  explicit Hysteresis(Status held) : held_(held), seen_(held) {}

  // What holds after a look at `now` that saw `seen`.
  Status See(Status seen, const Patience& patience, absl::Duration longest_step, absl::Time now);

  Status held() const { return held_; }
  // True when nothing but well was seen for long enough: there is nothing to remember.
  bool is_idle() const { return held_ == Status::kOk && seen_ == Status::kOk; }

 private:
  Status held_ = Status::kOk;
  Status seen_ = Status::kOk;  // by the last look
  absl::Duration seen_for_;    // without an interruption
  absl::Time last_look_ = absl::InfinitePast();
};

}  // namespace muster::agent::health
