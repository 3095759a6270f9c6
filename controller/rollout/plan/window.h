// The times of the week at which nodes may be taken.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace muster::controller::rollout {

// "Sat 22:00-06:00", "Mon-Fri 18:00-07:00", "Sat,Sun 00:00-24:00", "22:00-06:00" (every day). The
// days are those on which the window opens; one that ends before it begins ends on the next day.
struct Window {
  std::array<bool, 7> days = {};  // Monday first
  int from_minutes = 0;           // since midnight
  int to_minutes = 0;             // at most 24 × 60
};

// InvalidArgument names the part that is wrong, and an example.
absl::StatusOr<Window> ParseWindow(absl::string_view text);

// Whether one of them is open; true when there are none. Local time in `zone`, by the clock on the
// wall: a window is an hour shorter or longer in the night in which that changes.
bool IsOpen(absl::Span<const Window> windows, absl::Time now, absl::TimeZone zone);
// When the next one opens, to the minute; `now` when one is open or there are none.
absl::Time NextOpening(absl::Span<const Window> windows, absl::Time now, absl::TimeZone zone);
// A time to come, for people: "Sat 22:00"; with the date where the day alone would not tell the
// week.
std::string MomentText(absl::Time time, absl::Time now, absl::TimeZone zone);

}  // namespace muster::controller::rollout
