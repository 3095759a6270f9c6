// Runs programs that a check needs and that may not be installed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/burnin/check.h"
#include "common/sys/process/process.h"

namespace muster::burnin {

struct ToolWatch {
  // Called for each line of the program's output; the result has only the end of it.
  sys::LineCallback on_line = {};
  // Asked several times a second by another thread: true ends the program.
  std::function<bool()> must_end = {};
};

// Runs a program of the Debian package `package`. NotFound names the package; a program that fails
// is not an error here, its failure is in the result. It is ended when the check is to stop, and
// dies with the worker.
absl::StatusOr<sys::ProcessResult> RunTool(CheckContext& context, std::vector<std::string> argv,
                                           absl::Duration timeout, const std::string& package,
                                           ToolWatch watch = {});

// The last lines of an output, as evidence.
std::vector<std::string> LastLines(const std::string& output, size_t count);

}  // namespace muster::burnin
