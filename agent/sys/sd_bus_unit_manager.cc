#include "agent/sys/sd_bus_unit_manager.h"

#include <cerrno>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "agent/sys/lost_bus.h"
#include "agent/sys/sd_bus.h"
#include "agent/sys/sd_bus_unit.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

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

absl::Status NotFinished(sd_bus* bus, const std::string& unit, absl::Duration timeout) {
  const auto status = ReadStatus(bus, unit);
  const std::string now =
      status.ok() ? absl::StrCat("; it is ", status->active_state, " (", status->sub_state, ")")
                  : std::string();
  return absl::DeadlineExceededError(absl::StrCat(
      "systemd did not finish the job within ", absl::FormatDuration(timeout), now,
      " and continues; `systemctl stop ", unit, "` ends it, a TimeoutStartSec= would"));
}

// For a job over all connections, on the real systemd's own time.
struct TimeLimit {
  absl::Duration timeout;
  absl::Duration end;  // by SteadyNow()
};

absl::Status AwaitJob(sd_bus* bus, const JobResults& results, const std::string& path,
                      const std::string& unit, const TimeLimit& limit) {
  while (results.count(path) == 0) {
    int result = sd_bus_process(bus, nullptr);
    if (result < 0) return BusStatus(result, "waiting for systemd");
    if (result > 0) continue;
    const absl::Duration left = limit.end - SteadyNow();
    if (left <= absl::ZeroDuration()) return NotFinished(bus, unit, limit.timeout);
    result = sd_bus_wait(bus, static_cast<uint64_t>(absl::ToInt64Microseconds(left)));
    if (result < 0 && result != -EINTR) return BusStatus(result, "waiting for systemd");
  }
  return absl::OkStatus();
}

// How long a program that systemd has only launched is watched: most programs that reject their
// configuration end at once.
constexpr absl::Duration kSettle = absl::Milliseconds(500);
constexpr uint64_t kLookMicroseconds = 50'000;

bool HasDied(const UnitStatus& status) {
  return status.active_state == "failed" || status.sub_state == "auto-restart";
}

// Until something happens on the bus, but never long.
void Pause(sd_bus* bus) {
  while (sd_bus_process(bus, nullptr) > 0) {  // signals that nobody waits for
  }
  sd_bus_wait(bus, kLookMicroseconds);
}

// Why the job has failed after all, although it is done: the unit is already dead again; "" if it
// is not.
absl::StatusOr<std::string> EarlyDeath(sd_bus* bus, UnitJob job, const std::string& unit) {
  if (job == UnitJob::kStop) return std::string();
  ASSIGN_OR_RETURN(const bool watch, IsOnlyLaunched(bus, unit));
  const absl::Duration end = SteadyNow() + (watch ? kSettle : absl::ZeroDuration());
  while (true) {
    ASSIGN_OR_RETURN(const UnitStatus status, ReadStatus(bus, unit));
    if (HasDied(status)) return std::string("it started and failed at once");
    if (SteadyNow() >= end) return std::string();
    Pause(bus);
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

// Why the job has failed; "" if it has not. `is_queued`: systemd knows of it.
absl::StatusOr<std::string> RunJob(sd_bus* bus, const JobRow& row, const std::string& unit,
                                   const TimeLimit& limit, bool& is_queued) {
  const std::string what = absl::StrCat(row.word, " ", unit);
  JobResults results;
  sd_bus_slot* raw_slot = nullptr;
  const int matched =
      sd_bus_match_signal(bus, &raw_slot, internal::kService, internal::kManagerPath,
                          internal::kManager, "JobRemoved", &OnJobRemoved, &results);
  if (matched < 0) return BusStatus(matched, what);
  const SlotHandle slot(raw_slot);
  RETURN_IF_ERROR(CallManager(bus, "Subscribe", what, "").status());
  if (row.job != UnitJob::kStop) ForgetFailures(bus, unit);
  ASSIGN_OR_RETURN(const MessageHandle reply,
                   CallManager(bus, row.method, what, "ss", unit.c_str(), "replace"));
  const char* path = nullptr;
  if (const int result = sd_bus_message_read(reply.get(), "o", &path); result < 0)
    return BusStatus(result, what);
  is_queued = true;
  RETURN_IF_ERROR(Annotate(AwaitJob(bus, results, path, unit, limit), what));
  const std::string& result = results[path];
  const ResultRow* meaning = RowOf(result);
  if (meaning == nullptr) return result;
  if (!meaning->good) return std::string(meaning->meaning);
  return EarlyDeath(bus, row.job, unit);
}

// The same for a job that was queued over a connection that is lost: systemd keeps its jobs when it
// executes itself anew, but not who waits for them.
absl::StatusOr<std::string> FollowJob(sd_bus* bus, const JobRow& row, const std::string& unit,
                                      const TimeLimit& limit) {
  while (true) {
    ASSIGN_OR_RETURN(const bool has_job, HasJob(bus, unit));
    if (!has_job) break;
    if (SteadyNow() >= limit.end)
      return Annotate(NotFinished(bus, unit, limit.timeout), absl::StrCat(row.word, " ", unit));
    Pause(bus);
  }
  ASSIGN_OR_RETURN(const UnitStatus status, ReadStatus(bus, unit));
  std::string failure = FailureInState(row.job, status);
  if (!failure.empty()) return failure;
  return EarlyDeath(bus, row.job, unit);
}

constexpr absl::Duration kConnectPoll = absl::Milliseconds(200);
// For one piece of work. An upgrade executes systemd anew for itself and for each of its libraries.
constexpr int kMaxConnections = 5;

absl::StatusOr<BusHandle> Connect(const std::string& address, Clock& clock) {
  const absl::Time deadline = clock.Now() + kConnectPatience;
  while (true) {
    absl::StatusOr<BusHandle> bus = OpenSystemd(address);
    const bool may_pass = absl::IsUnavailable(bus.status()) || absl::IsNotFound(bus.status());
    if (!may_pass || clock.Now() >= deadline) return bus;
    clock.Sleep(kConnectPoll);
  }
}

// Does `work` over a connection of its own, and anew over another one when systemd drops it.
absl::Status OverBus(const std::string& address, Clock& clock,
                     absl::FunctionRef<absl::Status(sd_bus*)> work) {
  for (int left = kMaxConnections;; --left) {
    absl::Status status;
    {
      ASSIGN_OR_RETURN(const BusHandle bus, Connect(address, clock));
      status = work(bus.get());
    }
    if (!absl::IsUnavailable(status) || left == 1) return status;
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
  UnitStatus status;
  RETURN_IF_ERROR(OverBus(address_, clock_, [&](sd_bus* bus) -> absl::Status {
    ASSIGN_OR_RETURN(status, ReadStatus(bus, unit));
    return absl::OkStatus();
  }));
  return status;
}

absl::StatusOr<std::vector<std::string>> SdBusUnitManager::ListFailed() {
  std::vector<std::string> names;
  RETURN_IF_ERROR(OverBus(address_, clock_, [&](sd_bus* bus) -> absl::Status {
    constexpr char kWhat[] = "listing failed units";
    names.clear();
    ASSIGN_OR_RETURN(const MessageHandle reply,
                     CallManager(bus, "ListUnitsFiltered", kWhat, "as", 1, "failed"));
    int result = sd_bus_message_enter_container(reply.get(), 'a', "(ssssssouso)");
    while (result >= 0) {
      const char *name = nullptr, *text = nullptr;
      uint32_t job = 0;
      result = sd_bus_message_read(reply.get(), "(ssssssouso)", &name, &text, &text, &text, &text,
                                   &text, &text, &job, &text, &text);
      if (result <= 0) break;
      names.emplace_back(name);
    }
    return result < 0 ? BusStatus(result, kWhat) : absl::OkStatus();
  }));
  return names;
}

absl::Status SdBusUnitManager::Run(UnitJob job, const std::string& unit) {
  const JobRow& row = RowOf(job);
  const absl::Time began = absl::Now();
  const TimeLimit limit = {job_timeout_, SteadyNow() + job_timeout_};
  std::string failure;
  bool is_queued = false;
  const absl::Status status = OverBus(address_, clock_, [&](sd_bus* bus) -> absl::Status {
    ASSIGN_OR_RETURN(failure, is_queued ? FollowJob(bus, row, unit, limit)
                                        : RunJob(bus, row, unit, limit, is_queued));
    return absl::OkStatus();
  });
  if (absl::IsDeadlineExceeded(status))
    return absl::DeadlineExceededError(absl::StrCat(status.message(), JournalOf(unit, began)));
  RETURN_IF_ERROR(status);
  if (failure.empty()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(row.word, " ", unit, ": ", failure, JournalOf(unit, began)));
}

absl::Status SdBusUnitManager::SetEnabled(const std::string& unit, bool enabled) {
  const std::string what = absl::StrCat(enabled ? "enabling " : "disabling ", unit);
  return OverBus(address_, clock_, [&](sd_bus* bus) -> absl::Status {
    if (!enabled) {
      // Also the links that would be gone after the next boot.
      for (const int runtime : {0, 1})
        RETURN_IF_ERROR(
            CallManager(bus, "DisableUnitFiles", what, "asb", 1, unit.c_str(), runtime).status());
      return Reload(bus);
    }
    ASSIGN_OR_RETURN(const MessageHandle reply,
                     CallManager(bus, "EnableUnitFiles", what, "asbb", 1, unit.c_str(),
                                 /*runtime=*/0, /*force=*/0));
    int has_install_section = 0;
    if (const int result = sd_bus_message_read(reply.get(), "b", &has_install_section); result < 0)
      return BusStatus(result, what);
    if (has_install_section == 0)
      return absl::FailedPreconditionError(absl::StrCat(
          what,
          ": its file has no [Install] section, so it cannot be enabled; leave `enabled` out"));
    return Reload(bus);
  });
}

absl::Status SdBusUnitManager::SetMasked(const std::string& unit, bool masked) {
  const std::string what = absl::StrCat(masked ? "masking " : "unmasking ", unit);
  return OverBus(address_, clock_, [&](sd_bus* bus) -> absl::Status {
    const auto reply = masked ? CallManager(bus, "MaskUnitFiles", what, "asbb", 1, unit.c_str(),
                                            /*runtime=*/0, /*force=*/0)
                              : CallManager(bus, "UnmaskUnitFiles", what, "asb", 1, unit.c_str(),
                                            /*runtime=*/0);
    RETURN_IF_ERROR(reply.status());
    return Reload(bus);
  });
}

absl::Status SdBusUnitManager::DaemonReload() { return OverBus(address_, clock_, &Reload); }

// Not the manager's Reboot(), which stops no unit.
absl::Status SdBusUnitManager::StartReboot() {
  return OverBus(address_, clock_, [](sd_bus* bus) {
    return CallManager(bus, "StartUnit", "starting reboot.target", "ss", "reboot.target",
                       "replace-irreversibly")
        .status();
  });
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
