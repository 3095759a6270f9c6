#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/sys/process/process.h"

namespace muster::sys {
namespace {

// The end of a program's output, short enough for an error message.
std::string LastLines(absl::string_view output) {
  constexpr size_t kLines = 12, kBytes = 2000;
  output = absl::StripTrailingAsciiWhitespace(output);
  if (output.size() > kBytes) output.remove_prefix(output.size() - kBytes);
  std::vector<absl::string_view> lines = absl::StrSplit(output, '\n');
  if (lines.size() > kLines) lines.erase(lines.begin(), lines.end() - kLines);
  return absl::StrJoin(lines, "\n");
}

}  // namespace

absl::Status CheckSuccess(const ProcessSpec& spec, const ProcessResult& result) {
  if (result.ok()) return absl::OkStatus();
  const std::string last = LastLines(result.output);
  const std::string tail = last.empty() ? " (it printed nothing)" : absl::StrCat(": ", last);
  const std::string& name = spec.argv.front();
  if (result.timed_out)
    return absl::DeadlineExceededError(
        absl::StrCat(name, " was stopped after ", absl::FormatDuration(spec.timeout), tail));
  if (result.unkillable)
    return absl::InternalError(absl::StrCat(
        name, " cannot be killed: a call into the kernel does not return (state D of ps)", tail));
  if (result.signal != 0)
    return absl::InternalError(absl::StrCat(name, " was killed by signal ", result.signal, " (",
                                            ::strsignal(result.signal), ")", tail));
  return absl::InternalError(
      absl::StrCat(name, " failed with exit status ", result.exit_code, tail));
}

absl::StatusOr<ProcessResult> RunChecked(ProcessRunner& runner, const ProcessSpec& spec) {
  ASSIGN_OR_RETURN(ProcessResult result, runner.Run(spec));
  RETURN_IF_ERROR(CheckSuccess(spec, result));
  return result;
}

}  // namespace muster::sys
