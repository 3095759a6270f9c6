#include "agent/health/probes/bmc_lines.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace muster::agent::health {
namespace {

constexpr absl::string_view kCritical = "Critical";
constexpr absl::string_view kUnknown = "N/A";
// States in freeipmi_interpret_sensor.conf(5) and freeipmi_interpret_sel.conf(5), and none.
constexpr absl::string_view kStates[] = {"Nominal", "Warning", kCritical, kUnknown};
constexpr absl::string_view kLostEvents = "Events dropped due to lack of space";

// BMCs count seconds in 32 bits.
constexpr int64_t kLatestSeconds = int64_t{1} << 32;

double SecondsOf(double event_number) { return std::floor(event_number / kEventIds); }

}  // namespace

std::vector<BmcLine> ReadBmcLines(absl::string_view output, size_t before_name) {
  std::vector<BmcLine> lines;
  for (const absl::string_view text : absl::StrSplit(output, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(text, ',');
    // The name and the type come before the state.
    const size_t earliest = before_name + 2;
    if (fields.size() <= earliest) continue;
    const auto state = std::find_first_of(fields.begin() + earliest, fields.end(),
                                          std::begin(kStates), std::end(kStates));
    if (state == fields.end()) continue;
    BmcLine& line = lines.emplace_back();
    line.id = std::string(fields.front());
    if (before_name == kBeforeEventName) {
      line.date = std::string(fields[1]);
      line.time = std::string(fields[2]);
    }
    line.name = absl::StrJoin(fields.begin() + before_name, state - 1, ",");
    line.type = std::string(*(state - 1));
    line.is_critical = *state == kCritical;
    std::vector<absl::string_view> rest(state + 1, fields.end());
    rest.erase(std::remove(rest.begin(), rest.end(), kUnknown), rest.end());
    line.rest = absl::StrJoin(rest, " ");
  }
  return lines;
}

double EventNumber(const BmcLine& event) {
  absl::Time time;
  std::string error;
  const bool has_time = absl::ParseTime("%b-%d-%Y %H:%M:%S",
                                        absl::StrCat(event.date, " ", event.time), &time, &error);
  uint32_t id = 0;
  if (!absl::SimpleAtoi(event.id, &id)) id = 0;
  const int64_t seconds =
      std::clamp<int64_t>(has_time ? absl::ToUnixSeconds(time) : 0, 0, kLatestSeconds);
  return static_cast<double>(seconds * kEventIds + id % kEventIds);
}

size_t FirstAfter(const std::vector<BmcLine>& events, double newest) {
  for (size_t i = events.size(); i > 0; --i)
    if (EventNumber(events[i - 1]) == newest) return i;
  size_t first = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    const double seconds = SecondsOf(EventNumber(events[i]));
    if (seconds > 0 && seconds <= SecondsOf(newest)) first = i + 1;
  }
  return first;
}

bool HasLostEvents(absl::string_view info) {
  for (const absl::string_view text : absl::StrSplit(info, '\n')) {
    if (!absl::StartsWith(text, kLostEvents)) continue;
    const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
    return absl::StripAsciiWhitespace(parts.back()) == "Yes";
  }
  return false;
}

}  // namespace muster::agent::health
