// Follows a run to its end and shows it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/context.h"

namespace muster::cli {

class Connection;

struct WatchOptions {
  bool verbose = false;             // also steps that were ok or skipped, and values
  bool values = false;              // values before and after a change
  bool detailed_exit_code = false;  // kExitChanges when something changed
  bool only_progress = false;  // no events and no recap: the live view, where there is a terminal
  absl::Duration patience = absl::Minutes(2);  // with a controller that restarts
};

// Blocks until the run has ended or Ctrl-C; the exit code tells which. On a terminal, redraws a
// line per node; otherwise prints a line per change; with -o json or yaml, one JSON object per
// event.
absl::StatusOr<int> WatchRun(Context& context, Connection& connection, const std::string& run_id,
                             const WatchOptions& options);

}  // namespace muster::cli
