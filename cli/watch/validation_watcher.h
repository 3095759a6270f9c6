// Follows a validation to its end and shows it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/context.h"
#include "muster/v1/validation.pb.h"

namespace muster::cli {

class Connection;

// Blocks until the validation has ended or Ctrl-C; the exit code tells which. On a terminal,
// redraws what nodes are doing; otherwise prints a line per verdict; with -o json or yaml, one JSON
// object per event. Waits up to two minutes for a controller that restarts.
absl::StatusOr<int> WatchValidation(Context& context, Connection& connection,
                                    const std::string& validation_id);

}  // namespace muster::cli
