#include "controller/rollout/plan/window.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/civil_time.h"
#include "common/base/status.h"
#include "common/base/text/plain_text.h"

namespace muster::controller::rollout {
namespace {

constexpr absl::string_view kDayNames[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
constexpr int kDayMinutes = 24 * 60;
constexpr size_t kMaxWindowBytes = 64;
// A window that falls into the hour which a change of the clock leaves out opens a week later, and
// the week after that for certain.
constexpr int kDaysAhead = 15;

absl::Status WindowError(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("window '", PlainText(text, Lines::kOne, kMaxWindowBytes), "': ", what,
                   "; for example \"Sat 22:00-06:00\", \"Mon-Fri 18:00-07:00\" or "
                   "\"22:00-06:00\" (every day)"));
}

std::optional<int> DayOf(absl::string_view name) {
  for (int day = 0; day < 7; ++day) {
    if (name == kDayNames[day]) return day;
  }
  return std::nullopt;
}

// "22:00" in minutes; nothing else than two digits, a colon and two digits.
std::optional<int> MinutesOf(absl::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  for (const int place : {0, 1, 3, 4}) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(text[place]))) return std::nullopt;
  }
  const int hours = (text[0] - '0') * 10 + text[1] - '0';
  const int minutes = (text[3] - '0') * 10 + text[4] - '0';
  if (minutes > 59) return std::nullopt;
  const int all = hours * 60 + minutes;
  return all <= kDayMinutes ? std::optional<int>(all) : std::nullopt;
}

// "Mon-Fri" or "Sat,Sun".
absl::Status ParseDays(absl::string_view text, absl::string_view words, std::array<bool, 7>& days) {
  for (const absl::string_view part : absl::StrSplit(words, ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    const bool is_range = part.find('-') != absl::string_view::npos;
    const std::optional<int> first = DayOf(ends.first);
    const std::optional<int> last = is_range ? DayOf(ends.second) : first;
    if (!first.has_value() || !last.has_value()) {
      return WindowError(text, absl::StrCat("'", PlainText(part, Lines::kOne, kMaxWindowBytes),
                                            "' is not a day of Mon, Tue, Wed, Thu, Fri, Sat, Sun "
                                            "nor a range of two"));
    }
    for (int day = *first;; day = (day + 1) % 7) {
      days[day] = true;
      if (day == *last) break;
    }
  }
  return absl::OkStatus();
}

bool IsOpen(const Window& window, int day, int minute) {
  const bool is_overnight = window.to_minutes <= window.from_minutes;
  if (window.days[day] && minute >= window.from_minutes &&
      (is_overnight || minute < window.to_minutes)) {
    return true;
  }
  return is_overnight && window.days[(day + 6) % 7] && minute < window.to_minutes;
}

// The moments at which the clock on the wall shows `civil`, and the one at which it jumps over it.
void AddMoments(absl::CivilSecond civil, absl::TimeZone zone, std::vector<absl::Time>& moments) {
  const absl::TimeZone::TimeInfo info = zone.At(civil);
  moments.push_back(info.pre);
  moments.push_back(info.trans);
  moments.push_back(info.post);
}

}  // namespace

absl::StatusOr<Window> ParseWindow(absl::string_view text) {
  if (text.size() > kMaxWindowBytes) {
    return WindowError(text, absl::StrCat("is longer than ", kMaxWindowBytes, " bytes"));
  }
  Window window;
  absl::string_view times = text;
  if (const size_t space = text.find(' '); space != absl::string_view::npos) {
    RETURN_IF_ERROR(ParseDays(text, text.substr(0, space), window.days));
    times = text.substr(space + 1);
  } else {
    window.days.fill(true);
  }
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(times, absl::MaxSplits('-', 1));
  const std::optional<int> from = MinutesOf(ends.first);
  const std::optional<int> to = MinutesOf(ends.second);
  if (!from.has_value() || !to.has_value()) {
    return WindowError(text, absl::StrCat("'", PlainText(times, Lines::kOne, kMaxWindowBytes),
                                          "' is not two times of day, HH:MM-HH:MM"));
  }
  if (*from == kDayMinutes) return WindowError(text, "24:00 can only end a window");
  if (*from == *to) {
    return WindowError(text, "begins and ends at the same time; a whole day is 00:00-24:00");
  }
  window.from_minutes = *from;
  window.to_minutes = *to;
  return window;
}

bool IsOpen(absl::Span<const Window> windows, absl::Time now, absl::TimeZone zone) {
  if (windows.empty()) return true;
  const absl::CivilSecond local = absl::ToCivilSecond(now, zone);
  const int day = static_cast<int>(absl::GetWeekday(local));
  const int minute = static_cast<int>(local.hour()) * 60 + local.minute();
  return std::any_of(windows.begin(), windows.end(),
                     [&](const Window& window) { return IsOpen(window, day, minute); });
}

absl::Time NextOpening(absl::Span<const Window> windows, absl::Time now, absl::TimeZone zone) {
  if (IsOpen(windows, now, zone)) return now;
  std::vector<absl::Time> moments;
  const absl::CivilDay today = absl::ToCivilDay(now, zone);
  for (const Window& window : windows) {
    for (int day = 0; day <= kDaysAhead; ++day) {
      AddMoments(absl::CivilMinute(today + day) + window.from_minutes, zone, moments);
    }
  }
  // A clock that is set back opens a window again.
  absl::TimeZone::CivilTransition change;
  if (zone.NextTransition(now, &change)) {
    AddMoments(change.from, zone, moments);
    AddMoments(change.to, zone, moments);
  }
  absl::Time next = absl::InfiniteFuture();
  for (const absl::Time moment : moments) {
    if (moment > now && moment < next && IsOpen(windows, moment, zone)) next = moment;
  }
  return next;
}

std::string MomentText(absl::Time time, absl::Time now, absl::TimeZone zone) {
  const bool is_near = time - now < absl::Hours(6 * 24);
  return absl::FormatTime(is_near ? "%a %H:%M" : "%a %Y-%m-%d %H:%M", time, zone);
}

}  // namespace muster::controller::rollout
