#include "agent/health/probes/child.h"

#include <signal.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::agent::health {
namespace {

constexpr absl::Duration kUnkillableAfter = absl::Seconds(2);
// What a program has told is in its lines.
constexpr size_t kListened = size_t{4} << 10;

}  // namespace

bool Child::IsHanging() const {
  return hanging_pid_ > 0 && (::kill(hanging_pid_, 0) == 0 || errno != ESRCH);
}

absl::StatusOr<sys::ProcessResult> Child::Run(std::vector<std::string> argv,
                                              absl::Duration time_limit, size_t max_output) {
  return Run({.argv = std::move(argv), .timeout = time_limit, .max_output = max_output});
}

absl::StatusOr<sys::ProcessResult> Child::Listen(std::vector<std::string> argv,
                                                 absl::Duration time_limit,
                                                 sys::LineCallback on_line) {
  return Run({.argv = std::move(argv),
              .timeout = time_limit,
              .die_with_parent = true,
              .max_output = kListened,
              .on_line = std::move(on_line)});
}

absl::StatusOr<sys::ProcessResult> Child::Run(sys::ProcessSpec spec) {
  if (IsHanging())
    return absl::DeadlineExceededError(absl::StrCat(spec.argv.front(), " (process ", hanging_pid_,
                                                    ") hangs in the kernel since an earlier look"));
  hanging_pid_ = 0;
  int pid = 0;
  spec.on_started = [&pid](int started) { pid = started; };
  spec.unkillable_after = kUnkillableAfter;
  ASSIGN_OR_RETURN(sys::ProcessResult result, processes_.Run(spec));
  if (result.unkillable) hanging_pid_ = pid;
  if (result.timed_out || result.unkillable)
    return absl::DeadlineExceededError(absl::StrCat(spec.argv.front(), " did not answer within ",
                                                    absl::FormatDuration(spec.timeout)));
  return result;
}

}  // namespace muster::agent::health
