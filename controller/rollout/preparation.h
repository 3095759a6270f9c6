// From a request to a rollout that could start.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "controller/rollout/active_rollout.h"
#include "muster/v1/rollout.pb.h"

namespace muster::v1 {
class CreateRunRequest;
}
namespace muster::controller {
class Inventory;
struct RunActor;
}  // namespace muster::controller

namespace muster::controller::rollout {

struct RolloutCollaborators;

// Checks the playbook as for a run, the suite and the limits, and gathers the workers; stores and
// starts nothing. The result has no id; its request is complete, also where a plan file says what
// it is. Errors: those of the playbook, the limit and the suite, with their place; InvalidArgument:
// a limit that is none; FailedPrecondition: the gate is off, or no worker of the playbook has
// joined.
absl::StatusOr<ActiveRollout> PrepareRollout(const RolloutCollaborators& with,
                                             const v1::CreateRolloutRequest& given,
                                             const RunActor& actor);

// The run that updates these nodes.
v1::CreateRunRequest RunOf(const v1::CreateRolloutRequest& request, const std::string& limit);

// Whether trying again may help: other work ends, the store or Slurm answers again.
bool MayBeTemporary(const absl::Status& status);

// Where the inventory has the node; nowhere, if it does not have it.
ActiveRollout::Place PlaceOf(const Inventory& inventory, const std::string& name);

// For a rollout in the store. The inventory's newest revision tells the racks.
absl::StatusOr<ActiveRollout> ReadActive(const RolloutCollaborators& with,
                                         const std::string& rollout_id);

}  // namespace muster::controller::rollout
