#include "agent/command/command_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/sys/unit_manager.h"
#include "common/base/command_limits.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/plain_text.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"
#include "common/sys/process/process_control.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxIdBytes = 64;
// More than is reported, so that a result of this size tells that something is missing.
constexpr size_t kOutputKept = 2 * kMaxCommandOutput;
// Bytes that are not UTF-8 grow when they are replaced.
constexpr size_t kOutputSent = kMaxCommandOutput + (size_t{4} << 10);
// A program that the kernel holds is given up this long after SIGKILL, and its scope stays.
constexpr absl::Duration kUnkillableAfter = absl::Seconds(10);
constexpr char kStopWithin[] = "2s";

std::string ScopeOf(absl::string_view command_id) {
  return absl::StrCat(kCommandScopePrefix, command_id, ".scope");
}

v1::CommandEnd NotRun(absl::string_view why) {
  v1::CommandEnd end;
  end.set_outcome(v1::COMMAND_OUTCOME_NOT_RUN);
  end.set_message(PlainText(why, Lines::kOne));
  return end;
}

// The end of `text`, from the beginning of a line if there is one.
absl::string_view LastBytes(absl::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  text.remove_prefix(text.size() - limit);
  const size_t line = text.find('\n');
  if (line != absl::string_view::npos && line + 1 < text.size()) text.remove_prefix(line + 1);
  return text;
}

}  // namespace

absl::Status CheckCommand(const v1::StartCommand& command) {
  const std::string& id = command.command_id();
  const bool is_id =
      !id.empty() && id.size() <= kMaxIdBytes && std::all_of(id.begin(), id.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-';
      });
  if (!is_id) return absl::InvalidArgumentError("the command has no valid id");
  if (command.argv().empty() || command.argv(0).empty())
    return absl::InvalidArgumentError("the command names no program");
  size_t bytes = 0;
  for (const std::string& argument : command.argv()) {
    bytes += argument.size();
    if (argument.find('\0') != std::string::npos)
      return absl::InvalidArgumentError("an argument of the command contains a NUL");
  }
  if (command.argv_size() > kMaxCommandArguments || bytes > kMaxCommandBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the command has ", command.argv_size(),
                                                   " arguments of ", bytes, " bytes; at most ",
                                                   kMaxCommandArguments, " of ", kMaxCommandBytes));
  }
  const absl::Duration limit = ToDuration(command.time_limit());
  if (limit > absl::ZeroDuration() && limit <= kLongestCommand) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the command's time limit is ",
                                                 absl::FormatDuration(limit), "; at most ",
                                                 absl::FormatDuration(kLongestCommand)));
}

v1::CommandEnd DescribeEnd(const sys::ProcessResult& result, size_t bytes_seen) {
  v1::CommandEnd end;
  if (result.timed_out) {
    end.set_outcome(v1::COMMAND_OUTCOME_TIMED_OUT);
  } else if (result.stopped) {
    end.set_outcome(v1::COMMAND_OUTCOME_STOPPED);
  } else if (result.signal != 0) {
    end.set_outcome(v1::COMMAND_OUTCOME_SIGNALED);
    end.set_signal(static_cast<uint32_t>(result.signal));
  } else {
    end.set_outcome(v1::COMMAND_OUTCOME_EXITED);
    end.set_exit_status(static_cast<uint32_t>(result.exit_code));
  }
  if (result.unkillable) end.set_message("the kernel holds the program: it ignores SIGKILL");
  const absl::string_view last = LastBytes(result.output, kMaxCommandOutput);
  if (last.size() < result.output.size())
    end.set_bytes_left_out(std::max(bytes_seen, result.output.size()) - last.size());
  end.set_output(PlainText(last, Lines::kMany, kOutputSent));
  return end;
}

bool CommandRunner::HasProgram(const std::string& program) {
  const auto is_there = [this](const std::string& path) {
    const auto stat = files_.Stat(path);
    return !stat.ok() || stat->has_value();  // what cannot be looked at is left to the kernel
  };
  if (program.find('/') != std::string::npos) return is_there(program);
  const std::vector<std::string> folders = absl::StrSplit(sys::kStandardPath, ':');
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return is_there(absl::StrCat(folder, "/", program));
  });
}

v1::CommandEnd CommandRunner::Run(const v1::StartCommand& command, sys::ProcessControl& control) {
  if (const absl::Status good = CheckCommand(command); !good.ok()) return NotRun(good.message());
  if (!HasProgram(command.argv(0)))
    return NotRun(absl::StrCat("there is no program '", command.argv(0), "'"));
  const std::string scope = ScopeOf(command.command_id());
  size_t seen = 0;
  sys::ProcessSpec spec;
  // A scope, unlike a service of systemd-run, replaces nothing in the arguments, and ends as the
  // program does.
  spec.argv = {"systemd-run",
               "--scope",
               "--quiet",
               "--collect",
               absl::StrCat("--unit=", scope),
               "--description=muster exec",
               absl::StrCat("--property=TimeoutStopSec=", kStopWithin),
               "--"};
  spec.argv.insert(spec.argv.end(), command.argv().begin(), command.argv().end());
  spec.control = &control;
  control.CloseInput();
  spec.timeout = ToDuration(command.time_limit());
  spec.unkillable_after = kUnkillableAfter;
  spec.die_with_parent = true;
  spec.max_output = kOutputKept;
  spec.on_line = [&seen](absl::string_view line) { seen += line.size() + 1; };
  const absl::StatusOr<sys::ProcessResult> result = processes_.Run(spec);
  if (!result.ok()) return NotRun(result.status().message());
  v1::CommandEnd end = DescribeEnd(*result, seen);
  const absl::Status ended = units_.Run(UnitJob::kStop, scope);
  if (!ended.ok() && !absl::IsNotFound(ended)) {
    end.set_message(
        PlainText(absl::StrCat(end.message(), end.message().empty() ? "" : "; ",
                               "what it started may still be running: ", ended.message()),
                  Lines::kOne));
  }
  return end;
}

absl::Status CommandRunner::EndLeftovers() {
  sys::ProcessSpec spec;
  spec.argv = {"systemctl", "stop", absl::StrCat(kCommandScopePrefix, "*.scope")};
  spec.timeout = absl::Seconds(30);
  return RunChecked(processes_, spec).status();
}

}  // namespace muster::agent
