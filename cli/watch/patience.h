// What becomes of a controller's watcher while the controller is away.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster {
class Clock;
}

namespace muster::cli {

// Waits for a controller that restarts, which is no error to who follows its work. One thread.
class Patience {
 public:
  // How long a controller may be away before the watcher gives up; what it watches goes on.
  static constexpr absl::Duration kLimit = absl::Minutes(2);
  // Between two attempts.
  static constexpr absl::Duration kPause = absl::Seconds(1);
  // A connection that breaks and is there again sooner is nobody's concern: a switch learns where
  // machines are when some of them reboot.
  static constexpr absl::Duration kQuiet = absl::Seconds(2);

  // `clock` must outlive the object. `renew` makes the connection of the next attempt a new one.
  // `say` is given whole lines for people: once that there is no connection, once that there is.
  Patience(Clock& clock, std::function<void()> renew, std::function<void(absl::string_view)> say);

  // The controller has answered: it is not away, or no longer.
  void OnAnswer();
  // While an attempt waits for its answer; any number of times.
  void OnSilence();
  // An attempt has ended with `status`, OK included, before what it waited for. Blocks for kPause;
  // OK: try again. The error to give up with: one that no restart explains, or what the attempt
  // ended with when the controller has been away for kLimit.
  absl::Status Await(const absl::Status& status);

 private:
  Clock& clock_;
  const std::function<void()> renew_;
  const std::function<void(absl::string_view)> say_;
  absl::Time away_since_ = absl::InfiniteFuture();  // finite: it is away
  bool told_ = false;                               // that it is
};

}  // namespace muster::cli
