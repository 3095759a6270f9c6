// Follows a rollout to its end and shows it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/context.h"
#include "muster/v1/rollout.pb.h"

namespace muster::cli {

class Connection;

absl::StatusOr<v1::Rollout> GetRollout(const Connection& connection, const std::string& rollout_id);
absl::StatusOr<v1::ListUpdatePoliciesResponse> ListPolicies(const Connection& connection);

// Blocks until the rollout has ended or Ctrl-C; the exit code tells which. A pause is not an end:
// it says how to continue, and waits. On a terminal, redraws the active nodes; otherwise prints a
// line per event; with -o json or yaml, one JSON object per event. Waits up to two minutes for a
// controller that restarts.
absl::StatusOr<int> WatchRollout(Context& context, Connection& connection,
                                 const std::string& rollout_id);

}  // namespace muster::cli
