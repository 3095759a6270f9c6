// Reads the output of muster-burnin, and concludes the result of a check from it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/v1/validation.pb.h"

namespace muster::agent {

// How the worker ended.
struct WorkerEnd {
  // Set when it could not be started.
  absl::Status start;
  int exit_code = 0;
  int signal = 0;
  bool timed_out = false;
  // SIGKILL did not end it; it still hangs in the kernel.
  bool unkillable = false;
  // Why it was told to stop. Empty: it was not.
  std::string stop_reason;
  absl::Duration time_limit;
};

// Reads the lines of one worker, which may be broken or confused by broken hardware: nothing that
// it prints does harm, and only a complete result counts. Not thread-safe.
class WorkerOutput {
 public:
  // Room for a result with its curves.
  static constexpr size_t kMaxLineBytes = size_t{1} << 20;
  // Fits into one message of the stream (the controller's kMaxAgentMessageBytes) with room to
  // spare.
  static constexpr size_t kMaxResultBytes = size_t{3} << 19;
  // Enough for a check of two weeks with a line each second.
  static constexpr size_t kMaxLines = 1'500'000;
  static constexpr int kMaxSamplesOfLine = 512;

  explicit WorkerOutput(std::string check) : check_(std::move(check)) {}

  // A line of standard output. nullopt: the result, or nothing to pass on. InvalidArgument: it is
  // not a line of a worker; from then on nothing is accepted, and the worker may be ended.
  absl::StatusOr<std::optional<v1::CheckProgress>> Take(absl::string_view line);
  // A line of standard error: the last one helps to explain an end without a result.
  void TakeError(absl::string_view line);

  bool has_result() const { return result_.has_value(); }

  // The result of the check. Only a worker whose exit agrees with its result can have passed.
  v1::CheckResult Conclude(const WorkerEnd& end) const;

 private:
  absl::Status Refuse(absl::string_view why);

  const std::string check_;
  size_t lines_ = 0;
  std::string broken_;  // why; empty: it is not broken
  std::string last_error_;
  std::optional<v1::CheckResult> result_;
};

}  // namespace muster::agent
