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
    critical_ = 0;
    for (const BmcLine& line : ReadBmcLines(asked->out, kBeforeEventName)) {
      if (!line.is_critical) continue;
      ++critical_;
      last_ = Describe(line);
    }
    info_ = info;
    return "";
  }

  void JudgeLog(Findings& findings) {
    if (HasLostEvents(*info_))
      findings.Bad(kLog, "full",
                   "the log is full, and events are lost: ipmi-sel --clear empties it");
    const double in_day =
        context_.trends->Add("bmc/critical", static_cast<double>(critical_), context_.clock->Now())
            .in_day;
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
  size_t critical_ = 0;              // events in it
  std::string last_;                 // the newest of them
  Findings sensors_;                 // as they were read last
  absl::Time sensors_due_ = absl::InfinitePast();
};

}  // namespace

std::unique_ptr<Probe> MakeBmcProbe(const ProbeContext& context) {
  return std::make_unique<BmcProbe>(context);
}

}  // namespace muster::agent::health
