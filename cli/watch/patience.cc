#include "cli/watch/patience.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"

namespace muster::cli {
namespace {

// Statuses that streams and calls end with when a controller stops or starts.
bool IsPassing(const absl::Status& status) {
  return status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status) ||
         absl::IsUnknown(status);
}

}  // namespace

Patience::Patience(Clock& clock, std::function<void()> renew,
                   std::function<void(absl::string_view)> say, absl::Duration limit)
    : clock_(clock), renew_(std::move(renew)), say_(std::move(say)), limit_(limit) {}

void Patience::OnAnswer() {
  away_since_ = absl::InfiniteFuture();
  if (!told_) return;
  told_ = false;
  say_("connected to the controller again\n");
}

void Patience::OnSilence() {
  if (told_ || clock_.Now() - away_since_ < kQuiet) return;
  told_ = true;
  const std::string how_long = limit_ == absl::InfiniteDuration()
                                   ? "until there is one"
                                   : absl::StrCat("for ", absl::FormatDuration(limit_));
  say_(absl::StrCat("no connection to the controller; trying again ", how_long,
                    " (the nodes continue)\n"));
}

absl::Status Patience::Await(const absl::Status& status) {
  if (!IsPassing(status)) return status;
  away_since_ = std::min(away_since_, clock_.Now());
  OnSilence();
  if (clock_.Now() - away_since_ >= limit_) {
    if (!status.ok()) return status;
    return absl::UnavailableError("the controller answers but ends the stream early");
  }
  clock_.Sleep(kPause);
  renew_();
  return absl::OkStatus();
}

}  // namespace muster::cli
