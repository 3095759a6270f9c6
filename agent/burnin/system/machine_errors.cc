#include "agent/burnin/system/machine_errors.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/burnin/container.h"
#include "agent/burnin/system/kernel_log.h"
#include "agent/burnin/tool.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

constexpr char kEdacFolder[] = "/sys/devices/system/edac/mc";
constexpr absl::Duration kErrorsStep = absl::Milliseconds(500);
// The kernel's first line is from second 0. A log that begins later has lost its beginning: its
// buffer has a fixed size, and a burst of errors pushes the first lines out.
constexpr double kFirstSecond = 1;
constexpr absl::Duration kJournalTime = absl::Seconds(60);

struct Counts {
  bool has_edac = false;
  double corrected = 0, uncorrected = 0;
  std::optional<double> machine_checks;
};

double CountOf(sys::FileSystem& files, const std::string& path) {
  double count = 0;
  const absl::StatusOr<std::string> text = files.Read(path);
  return text.ok() && absl::SimpleAtod(absl::StripAsciiWhitespace(*text), &count) ? count : 0;
}

Counts ReadCounts(sys::FileSystem& files) {
  Counts counts;
  const absl::StatusOr<std::vector<std::string>> folders = files.List(kEdacFolder);
  for (const std::string& folder : folders.ok() ? *folders : std::vector<std::string>{}) {
    if (!absl::StartsWith(folder, "mc")) continue;
    counts.has_edac = true;
    const std::string path = absl::StrCat(kEdacFolder, "/", folder);
    counts.corrected += CountOf(files, path + "/ce_count");
    counts.uncorrected += CountOf(files, path + "/ue_count");
  }
  const absl::StatusOr<std::string> interrupts = files.Read("/proc/interrupts");
  if (interrupts.ok()) counts.machine_checks = CountMachineChecks(*interrupts);
  return counts;
}

void Wait(CheckContext& context, absl::Duration duration) {
  const absl::Time start = context.clock.Now();
  for (absl::Duration past; (past = context.clock.Now() - start) < duration;) {
    if (context.reporter.stopping()) return;
    context.reporter.SetPhase("watching error counters", absl::FDivDuration(past, duration));
    context.clock.Sleep(std::min(kErrorsStep, duration - past));
  }
}

bool IsWhole(const KernelLogReader& reader) {
  return reader.begins_at().has_value() && *reader.begins_at() < kFirstSecond;
}

std::string LastLineOf(const sys::ProcessResult& run) {
  const std::vector<std::string> lines = LastLines(run.output, 1);
  return lines.empty() ? "it printed nothing" : lines.back();
}

struct KernelLog {
  KernelLogFindings found;
  std::string gap;  // the missing part; empty: the log is complete
};

// The log since boot: the kernel's buffer or, if that has lost its beginning, the journal.
absl::StatusOr<KernelLog> ReadLog(CheckContext& context) {
  KernelLogReader buffer;
  const auto dmesg = RunTool(context, {"dmesg"}, absl::Seconds(20), "util-linux",
                             {.on_line = [&buffer](absl::string_view line) { buffer.Take(line); }});
  RETURN_IF_ERROR(dmesg.status());
  if (!dmesg->ok()) return absl::InternalError(LastLineOf(*dmesg));
  // A container sees its host's buffer, whose beginning only the host's journal has.
  if (IsWhole(buffer) || InContainer(context.files)) return KernelLog{buffer.findings(), ""};
  KernelLogReader journal;
  const auto run = RunTool(
      context,
      {"journalctl", "--dmesg", "--boot", "--output=short-monotonic", "--no-pager", "--quiet"},
      kJournalTime, "systemd",
      {.on_line = [&journal](absl::string_view line) { journal.Take(line); }});
  if (run.ok() && run->ok() && IsWhole(journal)) return KernelLog{journal.findings(), ""};
  const std::string begins =
      buffer.begins_at().has_value()
          ? absl::StrFormat("begins %.0f s after the boot", *buffer.begins_at())
          : "is empty";
  std::string cause;
  if (!run.ok()) cause = absl::StrCat(" (", run.status().message(), ")");
  if (run.ok() && !run->ok()) cause = absl::StrCat(" (", LastLineOf(*run), ")");
  return KernelLog{
      buffer.findings(),
      absl::StrCat("the kernel's messages since the boot are incomplete: its log ", begins,
                   ", and the journal (journalctl -k -b) does not have the rest", cause,
                   "; both start again with a reboot")};
}

}  // namespace

double CountMachineChecks(absl::string_view interrupts) {
  for (const absl::string_view line : absl::StrSplit(interrupts, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.empty() || words.front() != "MCE:") continue;
    double sum = 0, count = 0;
    for (size_t i = 1; i < words.size() && absl::SimpleAtod(words[i], &count); ++i) sum += count;
    return sum;
  }
  return 0;
}

CheckResult RunMachineErrorsCheck(CheckContext& context) {
  CheckResult result;
  const Counts before = ReadCounts(context.files);
  Wait(context, absl::Seconds(context.parameters.Number("duration")));
  const Counts after = ReadCounts(context.files);
  if (after.has_edac) {
    AddMetric(result, "memory_corrected", "", "", after.corrected);
    AddMetric(result, "memory_uncorrected", "", "", after.uncorrected);
    AddMetric(result, "memory_corrected_new", "", "", after.corrected - before.corrected);
    if (after.uncorrected > 0)
      AddFault(result, "memory_uncorrected", "",
               absl::StrCat(Counted(after.uncorrected, "uncorrectable memory error"),
                            " since the boot: find the module in ", kEdacFolder));
  } else {
    result.tools.push_back("EDAC: no memory controller reports errors");
  }
  if (after.machine_checks.has_value()) {
    AddMetric(result, "machine_checks", "", "", *after.machine_checks);
    if (*after.machine_checks > 0)
      AddFault(result, "machine_check", "",
               absl::StrCat(Counted(*after.machine_checks, "machine check exception"),
                            " since the boot"));
  }
  absl::StatusOr<KernelLog> log = ReadLog(context);
  if (!log.ok()) {
    AddUnknown(result, absl::StrCat("the kernel's log cannot be read: ", log.status().message()));
    return result;
  }
  if (!log->gap.empty()) AddUnknown(result, log->gap);
  KernelLogFindings& found = log->found;
  AddMetric(result, "kernel_log_errors", "", "", static_cast<double>(found.broken_count));
  AddMetric(result, "kernel_log_corrected", "", "", static_cast<double>(found.corrected));
  AddMetric(result, "gpu_application_errors", "", "", static_cast<double>(found.application));
  if (!found.unlisted_xids.empty())
    AddUnknown(result, absl::StrCat("the GPUs' driver has reported Xid ",
                                    absl::StrJoin(found.unlisted_xids, ", "),
                                    ", and this version does not know whether that is a hardware "
                                    "fault: look it up in NVIDIA's catalog, then reboot"));
  if (found.broken.empty()) return result;
  const std::string message =
      absl::StrCat("the kernel has reported broken hardware ", Counted(found.broken_count, "time"),
                   ", last: ", found.broken.back());
  AddFault(result, "kernel_log", "", message, std::move(found.broken));
  return result;
}

}  // namespace muster::burnin
