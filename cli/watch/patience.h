// How a watcher behaves while the controller is away.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster {
class Clock;
}

namespace muster::cli {

// Waits for a controller that restarts, which is not an error for somebody who follows its work.
// One thread.
class Patience {
 public:
  // How long a controller may be away before the watcher gives up; the work that it watches
  // continues. Watchers of what has no end have absl::InfiniteDuration().
  static constexpr absl::Duration kLimit = absl::Minutes(2);
  // The pause between two attempts.
  static constexpr absl::Duration kPause = absl::Seconds(1);
  // A shorter interruption is not reported: a switch learns where machines are when some of them
  // reboot.
  static constexpr absl::Duration kQuiet = absl::Seconds(2);

  // `clock` must outlive the object. `renew` makes the next attempt use a new connection. `say`
  // receives whole lines for people: one when the connection is lost, one when it is back.
  Patience(Clock& clock, std::function<void()> renew, std::function<void(absl::string_view)> say,
           absl::Duration limit = kLimit);

  // The controller has answered: it is not, or no longer, away.
  void OnAnswer();
  // An attempt is still waiting for its answer; may be called any number of times.
  void OnSilence();
  // An attempt has ended with `status`, OK included, before what it waited for. Blocks for kPause.
  // OK: try again. Otherwise the error to give up with: one that no restart explains, or the error
  // of the attempt when the controller has been away for the limit.
  absl::Status Await(const absl::Status& status);

 private:
  Clock& clock_;
  const std::function<void()> renew_;
  const std::function<void(absl::string_view)> say_;
  const absl::Duration limit_;
  absl::Time away_since_ = absl::InfiniteFuture();  // finite: it is away
  bool told_ = false;                               // that it is away
};

}  // namespace muster::cli
