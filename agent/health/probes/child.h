// Programs that may hang in the kernel, run so that they cannot pile up.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/sys/process/process.h"

namespace muster::agent::health {

// Runs one program after the other. While one that even SIGKILL did not end still hangs, no other
// is started in its place. Not thread-safe.
class Child {
 public:
  // `processes` must outlive the object.
  explicit Child(sys::ProcessRunner& processes) : processes_(processes) {}

  // Returns soon after `time_limit` at the latest. DeadlineExceeded: the program did not end by
  // then, or the one before it still hangs. NotFound: there is no such program.
  absl::StatusOr<sys::ProcessResult> Run(std::vector<std::string> argv, absl::Duration time_limit,
                                         size_t max_output = size_t{16} << 10);

  // The same for one that tells its lines as they come. It ends with this process.
  absl::StatusOr<sys::ProcessResult> Listen(std::vector<std::string> argv,
                                            absl::Duration time_limit, sys::LineCallback on_line);

  // Whether a program that SIGKILL did not end at an earlier call still hangs.
  bool IsHanging() const;

 private:
  absl::StatusOr<sys::ProcessResult> Run(sys::ProcessSpec spec);

  sys::ProcessRunner& processes_;
  int hanging_pid_ = 0;
};

}  // namespace muster::agent::health
