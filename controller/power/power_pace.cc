#include "controller/power/power_pace.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/text/counted.h"
#include "common/base/text/human_duration.h"

namespace muster::controller::power {

void PowerPace::ForgetOld(absl::Time now) {
  // A clock that was set back holds nobody up for longer than usual.
  const auto is_old = [&](absl::Time at) { return now >= at + kSettleTime || now < at; };
  for (auto it = starts_.begin(); it != starts_.end();)
    it = is_old(it->second.at) ? starts_.erase(it) : std::next(it);
  for (auto it = off_.begin(); it != off_.end();)
    it = is_old(it->second) ? off_.erase(it) : std::next(it);
}

PowerPace::Turn PowerPace::Ask(const std::string& node, const PowerNeed& need, absl::Time now) {
  ForgetOld(now);
  starts_.erase(node);
  absl::Time last = absl::InfinitePast(), first_settles = absl::InfiniteFuture();
  double watts = 0;
  int starting = 0;
  for (const auto& [other, start] : starts_) {
    if (start.rack != need.rack) continue;
    last = std::max(last, start.at);
    const bool is_starting = now < start.at + kStartTime;
    watts += is_starting ? start.start_watts : start.idle_watts;
    if (!is_starting) continue;
    ++starting;
    first_settles = std::min(first_settles, start.at + kStartTime);
  }
  if (need.others != nullptr) {
    for (const auto& [other, idle] : *need.others) {
      if (other != node && starts_.count(other) == 0 && off_.count(other) == 0) watts += idle;
    }
  }
  Turn turn;
  if (!need.rack.empty() && need.limit_watts > 0 && watts + need.start_watts > need.limit_watts) {
    turn.is_never = starting == 0;
    turn.again = first_settles;
    turn.why = absl::StrFormat(
        "rack %s carries %.0f W: its other machines draw %.0f W%s, and this one up to %.0f W while "
        "it starts",
        need.rack, need.limit_watts, watts,
        starting == 0 ? "" : absl::StrCat(" while ", CountedAre(starting, "node"), " starting"),
        need.start_watts);
    return turn;
  }
  if (!need.rack.empty() && now < last + need.gap) {
    turn.again = last + need.gap;
    turn.why = absl::StrCat("the last machine of rack ", need.rack, " was switched on ",
                            HumanDuration(now - last), " ago, and ", HumanDuration(need.gap),
                            " must lie between two");
    return turn;
  }
  off_.erase(node);
  starts_[node] = {need.rack, now, need.start_watts, need.idle_watts};
  turn.is_now = true;
  return turn;
}

void PowerPace::SetOff(const std::string& node, absl::Time now) {
  starts_.erase(node);
  off_[node] = now;
}

}  // namespace muster::controller::power
