#include "common/base/backoff.h"

#include <algorithm>

#include "absl/random/distributions.h"

namespace muster {

Backoff::Backoff(absl::Duration initial, absl::Duration cap, absl::BitGenRef random)
    : initial_(initial), cap_(cap), random_(random), ceiling_(std::min(initial, cap)) {}

absl::Duration Backoff::Next() {
  const absl::Duration wait = absl::Milliseconds(absl::Uniform<int64_t>(
      absl::IntervalClosedClosed, random_, 0, absl::ToInt64Milliseconds(ceiling_)));
  ceiling_ = std::min(std::max(cap_, spread_), ceiling_ * 2);
  return wait;
}

void Backoff::Reset(absl::Duration spread) {
  spread_ = spread;
  ceiling_ = std::max(std::min(initial_, cap_), spread_);
}

}  // namespace muster
