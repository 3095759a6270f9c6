// Starting rollouts.
#pragma once

#include "absl/status/statusor.h"
#include "cli/context.h"
#include "muster/v1/rollout.pb.h"

namespace muster::cli {

class Connection;

// What the rollout would find; starts nothing. The controller asks Slurm and every node first,
// which may take a while.
absl::StatusOr<v1::PreviewRolloutResponse> PreviewOf(const Connection& connection,
                                                     const v1::CreateRolloutRequest& request);

// Shows what the rollout would find to people, unless `detach`, and asks unless `yes`. Cancelled:
// the answer was no.
absl::Status AskToUpdate(Context& context, const Connection& connection,
                         const v1::CreateRolloutRequest& request, bool yes, bool detach);

// Starts the rollout, says its id, and follows it as WatchRollout() does, unless `detach`.
absl::StatusOr<int> StartRollout(Context& context, Connection& connection,
                                 const v1::CreateRolloutRequest& request, bool detach);

}  // namespace muster::cli
