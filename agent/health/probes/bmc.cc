// What the machine's management controller (BMC) says of fans, power supplies, voltages and
// temperatures, and what it has logged. Asked inside the machine, without a password.
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/health/probes/bmc_lines.h"
#include "agent/health/probes/child.h"
#include "agent/health/probes/probe.h"
#include "common/base/clock.h"

namespace muster::agent::health {
namespace {

constexpr char kSensor[] = "bmc_sensor";
constexpr char kLog[] = "bmc_log";

// Trends: how many critical events were added to the log, and the number of the newest event.
constexpr char kCriticalTrend[] = "bmc/critical", kNewestTrend[] = "bmc/newest";

// Sensors that are well are read so often, and when something was added to the log: a reading of
// all of them keeps the kernel busy for seconds, which jobs would feel.
constexpr absl::Duration kSensorsInterval = absl::Hours(1);
// The first reading also fetches the descriptions of all sensors.
constexpr absl::Duration kSensorsTimeLimit = absl::Minutes(3);
constexpr absl::Duration kInfoTimeLimit = absl::Seconds(30);
// Some hundredths of a second for each of some thousand entries.
constexpr absl::Duration kLogTimeLimit = absl::Minutes(2);
// Thousands of lines: BMCs keep no more.
constexpr size_t kMaxOutput = size_t{1} << 20;
// What FreeIPMI's programs say on a machine that has no BMC.
constexpr absl::string_view kNoBmc = "could not find inband device";

bool IsMissing(const absl::StatusOr<sys::ProcessResult>& asked) {
  return absl::IsNotFound(asked.status()) ||
         (asked.ok() && !asked->ok() && absl::StrContains(asked->output, kNoBmc));
}

// Why there is no answer; "": there is one.
std::string TroubleOf(absl::string_view program, const absl::StatusOr<sys::ProcessResult>& asked) {
  if (!asked.ok()) return std::string(asked.status().message());
  if (asked->ok()) return "";
  const absl::string_view said = absl::StripAsciiWhitespace(asked->output);
  const std::vector<absl::string_view> lines = absl::StrSplit(said, absl::MaxSplits('\n', 1));
  return absl::StrCat(program, " failed: ", said.empty() ? "it said nothing" : lines.front());
}

std::string Describe(const BmcLine& line) {
  return absl::StrCat(line.name, " (", line.type, "): ", line.rest);
}

class BmcProbe final : public Probe {
 public:
  explicit BmcProbe(const ProbeContext& context) : context_(context), child_(*context.processes) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits&) override {
    Findings findings;
    const absl::StatusOr<sys::ProcessResult> info = Ask({"ipmi-sel", "--info"}, kInfoTimeLimit);
    if (IsMissing(info)) {
      findings.not_watched = {kSensor, kLog};
      return findings;
    }
    std::string trouble = TroubleOf("ipmi-sel", info);
    if (trouble.empty() && info_ != info->out) {
      sensors_due_ = absl::InfinitePast();
      trouble = ReadLog(info->out);
    }
    if (trouble.empty()) {
      JudgeLog(findings);
    } else {
      findings.Unknown(kLog, "", std::move(trouble));
    }
    if (context_.clock->Now() >= sensors_due_) ReadSensors();
    findings.not_watched = sensors_.not_watched;
    findings.troubles.insert(findings.troubles.end(), sensors_.troubles.begin(),
                             sensors_.troubles.end());
    return findings;
  }

 private:
  absl::StatusOr<sys::ProcessResult> Ask(std::vector<std::string> argv, absl::Duration time_limit) {
    argv.insert(argv.end(), {"--quiet-cache", "--sdr-cache-recreate",
                             absl::StrCat("--sdr-cache-directory=", context_.state_directory),
                             "--comma-separated-output", "--no-header-output"});
    return child_.Run(std::move(argv), time_limit, kMaxOutput);
  }

  // Returns why it could not.
  std::string ReadLog(const std::string& info) {
    const absl::StatusOr<sys::ProcessResult> asked =
        Ask({"ipmi-sel", "--output-event-state"}, kLogTimeLimit);
    if (std::string trouble = TroubleOf("ipmi-sel", asked); !trouble.empty()) return trouble;
    TakeLog(ReadBmcLines(asked->out, kBeforeEventName));
    info_ = info;
    return "";
  }

  // Counts what was added since the log was last read, also by an earlier agent: a full log that
  // overwrites its oldest events does not grow, and one that shrinks has no news.
  void TakeLog(const std::vector<BmcLine>& events) {
    const std::optional<double> newest = context_.trends->Last(kNewestTrend);
    const size_t first = newest.has_value() ? FirstAfter(events, *newest) : events.size();
    critical_ = context_.trends->Last(kCriticalTrend).value_or(0);
    for (size_t i = 0; i < events.size(); ++i) {
      if (!events[i].is_critical) continue;
      if (i >= first) ++critical_;
      last_ = Describe(events[i]);
    }
    // Not a counter, but kept like one. Of a log that was empty, everything that comes is new.
    const double last = events.empty() ? newest.value_or(0) : EventNumber(events.back());
    context_.trends->Add(kNewestTrend, last, context_.clock->Now());
  }

  void JudgeLog(Findings& findings) {
    if (HasLostEvents(*info_))
      findings.Bad(kLog, "full",
                   "the log is full, and events are lost: ipmi-sel --clear empties it");
    const double in_day =
        context_.trends->Add(kCriticalTrend, critical_, context_.clock->Now()).in_day;
    if (in_day > 0)
      findings.Bad(kLog, "",
                   absl::StrCat("critical events within a day: ", in_day, "; the last: ", last_));
  }

  void ReadSensors() {
    sensors_ = {};
    const absl::StatusOr<sys::ProcessResult> asked =
        Ask({"ipmi-sensors", "--output-sensor-state", "--ignore-not-available-sensors"},
            kSensorsTimeLimit);
    if (IsMissing(asked)) {
      sensors_.not_watched = {kSensor};
    } else if (std::string trouble = TroubleOf("ipmi-sensors", asked); !trouble.empty()) {
      sensors_.Unknown(kSensor, "", std::move(trouble));
    } else {
      JudgeSensors(asked->out);
    }
    // Until all is well it is looked at each time.
    if (sensors_.troubles.empty()) sensors_due_ = context_.clock->Now() + kSensorsInterval;
  }

  void JudgeSensors(absl::string_view output) {
    std::set<std::string> names;
    for (const BmcLine& line : ReadBmcLines(output, kBeforeSensorName)) {
      // Machines have sensors of the same name.
      const bool is_first = names.insert(line.name).second;
      const std::string object = is_first ? line.name : absl::StrCat(line.name, " #", line.id);
      if (line.is_critical) sensors_.Bad(kSensor, object, Describe(line));
    }
  }

  const ProbeContext context_;
  Child child_;
  std::optional<std::string> info_;  // about the log when it was read
  double critical_ = 0;              // events that were ever added to it
  std::string last_;                 // the newest critical one
  Findings sensors_;                 // as they were read last
  absl::Time sensors_due_ = absl::InfinitePast();
};

}  // namespace

std::unique_ptr<Probe> MakeBmcProbe(const ProbeContext& context) {
  return std::make_unique<BmcProbe>(context);
}

}  // namespace muster::agent::health
