// Follows a validation to its end and shows it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/context.h"
#include "muster/v1/validation.pb.h"

namespace muster::cli {

class Connection;

// Blocks until the validation has ended or Ctrl-C; the exit code tells which. On a terminal what
// nodes do is redrawn; otherwise a line per verdict; with -o json or yaml one JSON object per
// event. A controller that restarts meanwhile is waited for, up to two minutes.
absl::StatusOr<int> WatchValidation(Context& context, Connection& connection,
                                    const std::string& validation_id);

}  // namespace muster::cli
