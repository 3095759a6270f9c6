// Takes nodes out of Slurm's hands and waits until they have no job.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/context.h"

namespace muster::v1 {
class Node;
}

namespace muster::cli {

class Connection;

struct DrainRequest {
  std::vector<v1::Node> nodes;  // members; others have nothing to drain
  std::string reason;           // of the hold: "being removed"
  bool waits = true;            // false: only holds them
  absl::Duration timeout = absl::InfiniteDuration();
};

enum class DrainEnd {
  kIdle,         // no job is on them, and none can start
  kInterrupted,  // Ctrl-C
  kTimedOut,
};

// Holds the workers among the nodes in the caller's name, and waits for those that are connected;
// nodes that are not in Slurm have no jobs. Says on `words` what it waits for and, at an early end,
// how to go on. Waits for a controller that restarts. FailedPrecondition: the gate to Slurm is off
// while nodes have jobs, or somebody resumed a node meanwhile.
absl::StatusOr<DrainEnd> DrainAndWait(Context& context, Connection& connection,
                                      const DrainRequest& request, std::ostream& words);

// FailedPrecondition: a rollout is updating one of the nodes.
absl::Status RefuseIfUpdating(const Connection& connection, const std::vector<std::string>& nodes);

// The exit code for an end before the nodes were idle.
int ExitCodeOf(DrainEnd end);

}  // namespace muster::cli
