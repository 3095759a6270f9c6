#include "agent/resources/step_program.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/boot_id.h"
#include "common/sys/process/left_behind.h"

namespace muster::agent {
namespace {

constexpr char kProgramRecords[] = "step_program";
constexpr absl::Duration kEndWithin = absl::Seconds(10);
constexpr absl::Duration kLookEvery = absl::Milliseconds(20);

struct Started {
  int pid = 0;
  uint64_t start_ticks = 0;
};

// Reads the record "PID TICKS BOOT". Returns nullopt for a process of another boot.
std::optional<Started> ParseStarted(absl::string_view record, absl::string_view boot) {
  const std::vector<absl::string_view> words = absl::StrSplit(record, ' ');
  Started started;
  if (words.size() != 3 || words[2] != boot || !absl::SimpleAtoi(words[0], &started.pid) ||
      !absl::SimpleAtoi(words[1], &started.start_ticks))
    return std::nullopt;
  return started;
}

}  // namespace

absl::Status StepProgram::EndEarlier() {
  ASSIGN_OR_RETURN(const std::optional<std::string> record,
                   context_.records.Get(kProgramRecords, step_id_));
  if (!record.has_value()) return absl::OkStatus();
  const std::optional<Started> earlier =
      ParseStarted(*record, sys::ReadBootId(context_.files).value_or(""));
  if (earlier.has_value() &&
      sys::KillLeftBehind(earlier->pid, earlier->start_ticks, context_.files)) {
    const absl::Duration until = SteadyNow() + kEndWithin;
    while (sys::StartTicksOf(earlier->pid, context_.files) == earlier->start_ticks) {
      if (SteadyNow() >= until)
        return absl::DeadlineExceededError(
            absl::StrCat("the program of an earlier try of this step, process ", earlier->pid,
                         ", has not ended ", absl::FormatDuration(kEndWithin), " after SIGKILL"));
      absl::SleepFor(kLookEvery);
    }
  }
  return context_.records.Remove(kProgramRecords, step_id_);
}

absl::StatusOr<sys::ProcessResult> StepProgram::Run(sys::ProcessSpec spec) {
  if (!context_.is_running) return context_.processes.Run(spec);  // the root of an image
  RETURN_IF_ERROR(EndEarlier());
  spec.on_started = [this](int pid) {
    // Without a record, as on a full disk, two copies are possible after a restart.
    context_.records
        .Put(kProgramRecords, step_id_,
             absl::StrCat(pid, " ", sys::StartTicksOf(pid, context_.files), " ",
                          sys::ReadBootId(context_.files).value_or("")))
        .IgnoreError();
  };
  absl::StatusOr<sys::ProcessResult> result = context_.processes.Run(spec);
  // If this fails, the record remains, of a process that is no more.
  context_.records.Remove(kProgramRecords, step_id_).IgnoreError();
  return result;
}

}  // namespace muster::agent
