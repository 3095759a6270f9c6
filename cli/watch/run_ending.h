// Follows a run and the validations that it ends with.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/context.h"
#include "cli/watch/run_watcher.h"

namespace muster::v1 {
class Run;
}

namespace muster::cli {

class Connection;

// The run, once the fate of its suites is decided; after Ctrl-C, the run as it is. Waits, and says
// so, while nodes are asked for their facts or while other work holds them. REQUIRES: the run has
// ended.
absl::StatusOr<v1::Run> GetDecidedRun(Context& context, Connection& connection,
                                      const std::string& run_id);

// WatchRun(), then WatchValidation() for each validation that followed.
absl::StatusOr<int> WatchRunAndEndings(Context& context, Connection& connection,
                                       const std::string& run_id, const WatchOptions& options);

}  // namespace muster::cli
