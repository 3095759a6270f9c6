#include "cli/patience.h"

#include <utility>

#include "common/base/clock.h"

namespace muster::cli {
namespace {

// What streams and calls of a controller that stops or starts end with.
bool IsPassing(const absl::Status& status) {
  return status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status) ||
         absl::IsUnknown(status);
}

}  // namespace

Patience::Patience(Clock& clock, std::function<void()> renew,
                   std::function<void(absl::string_view)> say)
    : clock_(clock), renew_(std::move(renew)), say_(std::move(say)) {}

void Patience::OnAnswer() {
  if (give_up_ == absl::InfiniteFuture()) return;
  give_up_ = absl::InfiniteFuture();
  say_("the controller is back\n");
}

absl::Status Patience::Await(const absl::Status& status) {
  if (!IsPassing(status)) return status;
  if (give_up_ == absl::InfiniteFuture()) {
    give_up_ = clock_.Now() + kLimit;
    say_("the controller went away; waiting for it (the nodes go on)\n");
  }
  if (clock_.Now() >= give_up_) {
    if (!status.ok()) return status;
    return absl::UnavailableError("the controller answers, and ends the stream before its end");
  }
  clock_.Sleep(kPause);
  renew_();
  return absl::OkStatus();
}

}  // namespace muster::cli
