// Since when nodes are silent, as far as that is their own doing. Pure.
#pragma once

#include <algorithm>

#include "absl/time/time.h"

namespace muster::controller {

// A controller that was stopped, starved or suspended has heard nothing in the meantime, and
// neither has one whose clock was set forward, as far as it can tell: no node is to be blamed for
// either. The sweep that comes late, or earlier than the one before, begins the silence of all
// nodes anew.
class Silence {
 public:
  // A sweep is due every second. A pause that is longer than this is the controller's own.
  static constexpr absl::Duration kLate = absl::Seconds(3);

  // `late`: the same for sweeps that are due less often.
  explicit Silence(absl::Duration late = kLate) : late_(late) {}

  // Call at the start of each sweep.
  void OnSweep(absl::Time now) {
    if (now < swept_at_ || now - swept_at_ > late_) resumed_at_ = now;
    swept_at_ = now;
  }
  // Since when a node is silent that was last heard at `seen`; as of the last sweep. A time far
  // ahead of it is from before the clock was set back, and says nothing.
  absl::Time Since(absl::Time seen) const {
    return seen > swept_at_ + late_ ? resumed_at_ : std::max(seen, resumed_at_);
  }
  // When the controller last went on after a pause of its own; InfinitePast before the first sweep.
  absl::Time resumed_at() const { return resumed_at_; }

 private:
  absl::Duration late_;
  absl::Time swept_at_ = absl::InfinitePast();
  absl::Time resumed_at_ = absl::InfinitePast();
};

}  // namespace muster::controller
