#include "agent/sys/sd_bus_unit_manager.h"

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "agent/sys/sd_bus.h"
#include "agent/sys/unit_files.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

constexpr char kUnitInterface[] = "org.freedesktop.systemd1.Unit";
constexpr char kServiceInterface[] = "org.freedesktop.systemd1.Service";
constexpr size_t kJournalLines = 10;
constexpr absl::Duration kJournalTimeout = absl::Seconds(20);

struct JobRow {
  UnitJob job;
  const char* method;
  const char* word;
};
constexpr JobRow kJobs[] = {
    {UnitJob::kStart, "StartUnit", "starting"},
    {UnitJob::kStop, "StopUnit", "stopping"},
    {UnitJob::kRestart, "RestartUnit", "restarting"},
    {UnitJob::kReloadOrRestart, "ReloadOrRestartUnit", "reloading"},
};

// systemd's result of a finished job, in words for people.
struct ResultRow {
  const char* result;
  bool good;
  const char* meaning;
};
constexpr ResultRow kResults[] = {
    {"done", true, ""},
    {"skipped", true, ""},
    {"canceled", false, "it was cancelled by another job (someone else stopped or started it)"},
    {"timeout", false, "it did not finish within its TimeoutStartSec/TimeoutStopSec"},
    {"failed", false, "it failed"},
    {"dependency", false, "a unit that it requires failed"},
    {"invalid", false, "it cannot be reloaded in its state"},
    {"assert", false, "an Assert… condition of the unit does not hold"},
    {"unsupported", false, "this system does not support such units"},
    {"collected", false, "the unit vanished"},
    {"once", false, "the unit runs only once and has run"},
};

const JobRow& RowOf(UnitJob job) {
  for (const JobRow& row : kJobs)
    if (row.job == job) return row;
  std::abort();
}

const ResultRow* RowOf(absl::string_view result) {
  for (const ResultRow& row : kResults)
    if (result == row.result) return &row;
  return nullptr;
}

// Results by the job's path. All are kept, because a job may be done before its path is known.
using JobResults = std::map<std::string, std::string>;

int OnJobRemoved(sd_bus_message* message, void* results, sd_bus_error*) {
  const char *path = nullptr, *unit = nullptr, *result = nullptr;
  uint32_t id = 0;
  if (sd_bus_message_read(message, "uoss", &id, &path, &unit, &result) >= 0)
    (*static_cast<JobResults*>(results))[path] = result;
  return 0;
}

absl::Status AwaitJob(sd_bus* bus, const JobResults& results, const std::string& path,
                      absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;  // the real systemd's own time
  while (results.count(path) == 0) {
    int result = sd_bus_process(bus, nullptr);
    if (result < 0) return ErrnoStatus(-result, "waiting for systemd");
    if (result > 0) continue;
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration())
      return absl::DeadlineExceededError(
          absl::StrCat("systemd did not finish the job within ", absl::FormatDuration(timeout)));
    result = sd_bus_wait(bus, static_cast<uint64_t>(absl::ToInt64Microseconds(left)));
    if (result < 0 && result != -EINTR) return ErrnoStatus(-result, "waiting for systemd");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Property(sd_bus* bus, const std::string& path, const char* interface,
                                     const char* name) {
  BusError error;
  char* raw = nullptr;
  const int result = sd_bus_get_property_string(bus, internal::kService, path.c_str(), interface,
                                                name, error.get(), &raw);
  const std::unique_ptr<char, decltype(&std::free)> text(raw, &std::free);
  if (result < 0) return error.ToStatus(result, absl::StrCat("reading ", name));
  return std::string(raw);
}

// LoadUnit and not GetUnit: the latter knows only what is in memory.
absl::StatusOr<std::string> UnitPath(sd_bus* bus, const std::string& unit) {
  const std::string what = absl::StrCat("reading unit ", unit);
  ASSIGN_OR_RETURN(const MessageHandle reply,
                   CallManager(bus, "LoadUnit", what, "s", unit.c_str()));
  const char* path = nullptr;
  if (const int result = sd_bus_message_read(reply.get(), "o", &path); result < 0)
    return ErrnoStatus(-result, what);
  return std::string(path);
}

bool HasUnreadFiles(sd_bus* bus, const std::string& path, const std::string& unit) {
  const auto fragment = Property(bus, path, kUnitInterface, "FragmentPath");
  BusError error;
  char** raw = nullptr;
  if (!fragment.ok() ||
      sd_bus_get_property_strv(bus, internal::kService, path.c_str(), kUnitInterface, "DropInPaths",
                               error.get(), &raw) < 0)
    return false;  // a systemd without them
  std::vector<std::string> drop_ins;
  for (char** drop_in = raw; drop_in != nullptr && *drop_in != nullptr; ++drop_in) {
    drop_ins.emplace_back(*drop_in);
    std::free(*drop_in);
  }
  std::free(raw);
  sys::RealFileSystem files;
  return HasUnreadUnitFiles(files, unit, *fragment, drop_ins);
}

absl::StatusOr<bool> Flag(sd_bus* bus, const std::string& path, const char* interface,
                          const char* name) {
  BusError error;
  int flag = 0;
  const int result = sd_bus_get_property_trivial(bus, internal::kService, path.c_str(), interface,
                                                 name, error.get(), 'b', &flag);
  if (result < 0) return error.ToStatus(result, absl::StrCat("reading ", name));
  return flag != 0;
}

// Distinguishes a unit that has done its work from one that was never started.
absl::Status ReadEnd(sd_bus* bus, const std::string& path, bool is_service, UnitStatus& status) {
  ASSIGN_OR_RETURN(status.conditions_held, Flag(bus, path, kUnitInterface, "ConditionResult"));
  if (!is_service) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string type, Property(bus, path, kServiceInterface, "Type"));
  ASSIGN_OR_RETURN(const bool remains, Flag(bus, path, kServiceInterface, "RemainAfterExit"));
  status.ends_by_itself = type == "oneshot" && !remains;
  if (!status.ends_by_itself) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string result, Property(bus, path, kServiceInterface, "Result"));
  BusError error;
  uint64_t ended = 0;
  const int read =
      sd_bus_get_property_trivial(bus, internal::kService, path.c_str(), kServiceInterface,
                                  "ExecMainExitTimestampMonotonic", error.get(), 't', &ended);
  if (read < 0) return error.ToStatus(read, "reading its end time");
  status.ended_well = result == "success" && ended > 0;
  return absl::OkStatus();
}

absl::StatusOr<UnitStatus> ReadStatus(sd_bus* bus, const std::string& unit) {
  ASSIGN_OR_RETURN(const std::string path, UnitPath(bus, unit));
  UnitStatus status;
  const std::pair<const char*, std::string*> kProperties[] = {
      {"LoadState", &status.load_state},
      {"ActiveState", &status.active_state},
      {"SubState", &status.sub_state},
      {"UnitFileState", &status.unit_file_state}};
  for (const auto& [name, value] : kProperties) {
    ASSIGN_OR_RETURN(*value, Property(bus, path, kUnitInterface, name));
  }
  ASSIGN_OR_RETURN(const bool changed, Flag(bus, path, kUnitInterface, "NeedDaemonReload"));
  status.need_daemon_reload = changed || HasUnreadFiles(bus, path, unit);
  if (status.load_state == "loaded" && status.active_state != "active")
    RETURN_IF_ERROR(ReadEnd(bus, path, absl::EndsWith(unit, ".service"), status));
  return status;
}

// How long a program that systemd has only launched is watched: most programs that reject their
// configuration end at once.
constexpr absl::Duration kSettle = absl::Milliseconds(500);
constexpr uint64_t kLookMicroseconds = 50'000;

// A service of these types counts as started before its program has reported anything.
absl::StatusOr<bool> IsOnlyLaunched(sd_bus* bus, const std::string& unit) {
  if (!absl::EndsWith(unit, ".service")) return false;
  ASSIGN_OR_RETURN(const std::string path, UnitPath(bus, unit));
  ASSIGN_OR_RETURN(const std::string type, Property(bus, path, kServiceInterface, "Type"));
  return type == "simple" || type == "exec" || type == "idle";
}

bool HasDied(const UnitStatus& status) {
  return status.active_state == "failed" || status.sub_state == "auto-restart";
}

// True when the unit, started by a finished job, is already dead again.
absl::StatusOr<bool> DiesAtOnce(sd_bus* bus, const std::string& unit) {
  ASSIGN_OR_RETURN(const bool watch, IsOnlyLaunched(bus, unit));
  const absl::Time end = absl::Now() + (watch ? kSettle : absl::ZeroDuration());
  while (true) {
    ASSIGN_OR_RETURN(const UnitStatus status, ReadStatus(bus, unit));
    if (HasDied(status)) return true;
    if (absl::Now() >= end) return false;
    while (sd_bus_process(bus, nullptr) > 0) {  // signals that nobody waits for
    }
    sd_bus_wait(bus, kLookMicroseconds);
  }
}

// systemd refuses a unit that failed too often for a while, even when the cause has been fixed
// since. If this reset fails, the start is tried nevertheless.
void ForgetFailures(sd_bus* bus, const std::string& unit) {
  const auto status = ReadStatus(bus, unit);
  if (status.ok() && HasDied(*status))
    CallManager(bus, "ResetFailedUnit", unit, "s", unit.c_str()).status().IgnoreError();
}

absl::Status Reload(sd_bus* bus) {
  return CallManager(bus, "Reload", "making systemd read its unit files again", "").status();
}

constexpr absl::Duration kConnectPoll = absl::Milliseconds(200);

absl::StatusOr<BusHandle> Connect(const std::string& address, Clock& clock) {
  const absl::Time deadline = clock.Now() + kConnectPatience;
  while (true) {
    absl::StatusOr<BusHandle> bus = OpenSystemd(address);
    const bool may_pass = absl::IsUnavailable(bus.status()) || absl::IsNotFound(bus.status());
    if (!may_pass || clock.Now() >= deadline) return bus;
    clock.Sleep(kConnectPoll);
  }
}

}  // namespace

SdBusUnitManager::SdBusUnitManager(sys::ProcessRunner& processes, Clock& clock, std::string address,
                                   absl::Duration job_timeout)
    : processes_(processes),
      clock_(clock),
      address_(std::move(address)),
      job_timeout_(job_timeout) {}

absl::StatusOr<UnitStatus> SdBusUnitManager::GetStatus(const std::string& unit) {
  ASSIGN_OR_RETURN(const BusHandle bus, Connect(address_, clock_));
  return ReadStatus(bus.get(), unit);
}

absl::StatusOr<std::vector<std::string>> SdBusUnitManager::ListFailed() {
  constexpr char kWhat[] = "listing failed units";
  ASSIGN_OR_RETURN(const BusHandle bus, Connect(address_, clock_));
  ASSIGN_OR_RETURN(const MessageHandle reply,
                   CallManager(bus.get(), "ListUnitsFiltered", kWhat, "as", 1, "failed"));
  int result = sd_bus_message_enter_container(reply.get(), 'a', "(ssssssouso)");
  std::vector<std::string> names;
  while (result >= 0) {
    const char *name = nullptr, *text = nullptr;
    uint32_t job = 0;
    result = sd_bus_message_read(reply.get(), "(ssssssouso)", &name, &text, &text, &text, &text,
                                 &text, &text, &job, &text, &text);
    if (result <= 0) break;
    names.emplace_back(name);
  }
  if (result < 0) return ErrnoStatus(-result, kWhat);
  return names;
}

absl::Status SdBusUnitManager::Run(UnitJob job, const std::string& unit) {
  const JobRow& row = RowOf(job);
  const std::string what = absl::StrCat(row.word, " ", unit);
  JobResults results;
  ASSIGN_OR_RETURN(const BusHandle bus, Connect(address_, clock_));
  sd_bus_slot* raw_slot = nullptr;
  const int matched =
      sd_bus_match_signal(bus.get(), &raw_slot, internal::kService, internal::kManagerPath,
                          internal::kManager, "JobRemoved", &OnJobRemoved, &results);
  if (matched < 0) return ErrnoStatus(-matched, what);
  const SlotHandle slot(raw_slot);
  RETURN_IF_ERROR(CallManager(bus.get(), "Subscribe", what, "").status());
  if (job != UnitJob::kStop) ForgetFailures(bus.get(), unit);
  const absl::Time began = absl::Now();
  ASSIGN_OR_RETURN(const MessageHandle reply,
                   CallManager(bus.get(), row.method, what, "ss", unit.c_str(), "replace"));
  const char* path = nullptr;
  if (const int result = sd_bus_message_read(reply.get(), "o", &path); result < 0)
    return ErrnoStatus(-result, what);
  if (const absl::Status ended = AwaitJob(bus.get(), results, path, job_timeout_); !ended.ok()) {
    const auto status = ReadStatus(bus.get(), unit);
    const std::string now =
        status.ok() ? absl::StrCat("; it is ", status->active_state, " (", status->sub_state, ")")
                    : std::string();
    return Annotate(
        absl::Status(ended.code(),
                     absl::StrCat(ended.message(), now, " and continues; `systemctl stop ", unit,
                                  "` ends it, a TimeoutStartSec= would", JournalOf(unit, began))),
        what);
  }

  const std::string& result = results[path];
  const ResultRow* meaning = RowOf(result);
  if (meaning == nullptr || !meaning->good)
    return absl::InternalError(absl::StrCat(
        what, ": ", meaning == nullptr ? result : meaning->meaning, JournalOf(unit, began)));
  if (job == UnitJob::kStop) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool died, DiesAtOnce(bus.get(), unit));
  if (died)
    return absl::InternalError(
        absl::StrCat(what, ": it started and failed at once", JournalOf(unit, began)));
  return absl::OkStatus();
}

absl::Status SdBusUnitManager::SetEnabled(const std::string& unit, bool enabled) {
  const std::string what = absl::StrCat(enabled ? "enabling " : "disabling ", unit);
  ASSIGN_OR_RETURN(const BusHandle bus, Connect(address_, clock_));
  if (!enabled) {
    RETURN_IF_ERROR(CallManager(bus.get(), "DisableUnitFiles", what, "asb", 1, unit.c_str(),
                                /*runtime=*/0)
                        .status());
    return Reload(bus.get());
  }
  ASSIGN_OR_RETURN(const MessageHandle reply,
                   CallManager(bus.get(), "EnableUnitFiles", what, "asbb", 1, unit.c_str(),
                               /*runtime=*/0, /*force=*/0));
  int has_install_section = 0;
  if (const int result = sd_bus_message_read(reply.get(), "b", &has_install_section); result < 0)
    return ErrnoStatus(-result, what);
  if (has_install_section == 0)
    return absl::FailedPreconditionError(absl::StrCat(
        what, ": its file has no [Install] section, so it cannot be enabled; leave `enabled` out"));
  return Reload(bus.get());
}

absl::Status SdBusUnitManager::SetMasked(const std::string& unit, bool masked) {
  const std::string what = absl::StrCat(masked ? "masking " : "unmasking ", unit);
  ASSIGN_OR_RETURN(const BusHandle bus, Connect(address_, clock_));
  if (masked) {
    RETURN_IF_ERROR(CallManager(bus.get(), "MaskUnitFiles", what, "asbb", 1, unit.c_str(),
                                /*runtime=*/0, /*force=*/0)
                        .status());
  } else {
    RETURN_IF_ERROR(CallManager(bus.get(), "UnmaskUnitFiles", what, "asb", 1, unit.c_str(),
                                /*runtime=*/0)
                        .status());
  }
  return Reload(bus.get());
}

absl::Status SdBusUnitManager::DaemonReload() {
  ASSIGN_OR_RETURN(const BusHandle bus, Connect(address_, clock_));
  return Reload(bus.get());
}

// Not the manager's Reboot(), which stops no unit.
absl::Status SdBusUnitManager::StartReboot() {
  ASSIGN_OR_RETURN(const BusHandle bus, Connect(address_, clock_));
  return CallManager(bus.get(), "StartUnit", "starting reboot.target", "ss", "reboot.target",
                     "replace-irreversibly")
      .status();
}

std::string SdBusUnitManager::JournalOf(const std::string& unit, absl::Time since) {
  // The last messages of a program may still be on their way to the journal when its end is already
  // known.
  processes_.Run({.argv = {"journalctl", "--sync"}, .timeout = kJournalTimeout})
      .status()
      .IgnoreError();
  // Without --lines: beside --since, systemd 252 takes it for the first lines.
  const auto result = processes_.Run({.argv = {"journalctl", "--unit", unit, "--since",
                                               absl::StrCat("@", absl::ToUnixSeconds(since)),
                                               "--no-pager", "--quiet", "--output", "cat"},
                                      .timeout = kJournalTimeout});
  if (!result.ok() || !result->ok()) return "";
  const absl::string_view text = absl::StripAsciiWhitespace(result->out);
  if (text.empty()) return "; its journal is empty";
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.size() > kJournalLines) lines.erase(lines.begin(), lines.end() - kJournalLines);
  return absl::StrCat("; the end of its journal:\n", absl::StrJoin(lines, "\n"));
}

}  // namespace muster::agent
