#include "agent/health/hysteresis.h"

#include <algorithm>

namespace muster::agent::health {

Status Hysteresis::See(Status seen, const Patience& patience, absl::Duration longest_step,
                       absl::Time now) {
  if (seen != seen_ || last_look_ == absl::InfinitePast()) {
    seen_ = seen;
    seen_for_ = absl::ZeroDuration();
  } else {
    seen_for_ += std::clamp(now - last_look_, absl::ZeroDuration(), longest_step);
  }
  last_look_ = now;
  if (seen == held_ || (seen == Status::kUnknown && held_ == Status::kBad)) return held_;
  const bool heals = seen == Status::kOk;
  // Having looked again ends not knowing.
  const absl::Duration needed = !heals                      ? patience.bad_after
                                : held_ == Status::kUnknown ? absl::ZeroDuration()
                                                            : patience.good_after;
  if (seen_for_ >= needed) held_ = seen;
  return held_;
}

}  // namespace muster::agent::health
