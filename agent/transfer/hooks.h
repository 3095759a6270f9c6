// How a transfer communicates with those who wait for it.
#pragma once

#include <functional>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster::agent {

// Both are called from the transferring thread.
struct TransferHooks {
  // As in ApplyObserver; a few times a second.
  std::function<void(absl::string_view activity, std::optional<float> percent)> on_activity;
  // True: end with Cancelled.
  std::function<bool()> cancelled;
};

// Passes on progress at a bearable rate. Not thread-safe.
class ProgressMeter {
 public:
  // `what`: "downloading x.tar.gz".
  ProgressMeter(std::string what, const TransferHooks& hooks, Clock& clock)
      : what_(std::move(what)), hooks_(hooks), clock_(clock) {}
  void Show(uint64_t bytes, std::optional<uint64_t> total);

 private:
  const std::string what_;
  const TransferHooks& hooks_;
  Clock& clock_;
  absl::Time next_ = absl::InfinitePast();
};

// Sleeps in slices. False: cancelled, or `deadline` has passed.
bool WaitUnlessCancelled(Clock& clock, absl::Duration duration, absl::Time deadline,
                         const TransferHooks& hooks);

}  // namespace muster::agent
