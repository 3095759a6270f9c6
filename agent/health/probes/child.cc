#include "agent/health/probes/child.h"

#include <signal.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::agent::health {
namespace {

constexpr absl::Duration kUnkillableAfter = absl::Seconds(2);

}  // namespace

bool Child::IsHanging() const {
  return hanging_pid_ > 0 && (::kill(hanging_pid_, 0) == 0 || errno != ESRCH);
}

absl::StatusOr<sys::ProcessResult> Child::Run(std::vector<std::string> argv,
                                              absl::Duration time_limit, size_t max_output) {
  if (IsHanging())
    return absl::DeadlineExceededError(absl::StrCat(argv.front(), " (process ", hanging_pid_,
                                                    ") hangs in the kernel since an earlier look"));
  hanging_pid_ = 0;
  int pid = 0;
  const std::string program = argv.front();
  ASSIGN_OR_RETURN(sys::ProcessResult result,
                   processes_.Run({.argv = std::move(argv),
                                   .on_started = [&pid](int started) { pid = started; },
                                   .timeout = time_limit,
                                   .unkillable_after = kUnkillableAfter,
                                   .max_output = max_output}));
  if (result.unkillable) hanging_pid_ = pid;
  if (result.timed_out || result.unkillable)
    return absl::DeadlineExceededError(
        absl::StrCat(program, " did not answer within ", absl::FormatDuration(time_limit)));
  return result;
}

}  // namespace muster::agent::health
