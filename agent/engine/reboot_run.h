// Reboots the node for a step: while the other roles rest, with the controller's permit, after a
// record in the journal that tells the next boot what happened.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/engine/role_run.h"

namespace muster::v1 {
class RebootArmed;
class RebootPermit;
}  // namespace muster::v1

namespace muster::agent {

// OK, or why the permit allows no reboot now: it is for another node or another boot, it has
// expired, or it was used. `used`: the last permit that this boot has used; may be empty. Pure.
absl::Status CheckPermit(const v1::RebootPermit& permit, absl::string_view node_uuid,
                         absl::string_view boot_id, absl::string_view used, absl::Time now);

// After the reboot: waits until all that `armed` has noted is there again. FailedPrecondition names
// what is still missing after RebootOptions::return_patience. nullopt: the agent is stopping.
// Unless it is, RebootOptions::on_back is told what there is in the end.
std::optional<absl::Status> AwaitInventory(PlanContext& context, const v1::RebootArmed& armed,
                                           ApplyObserver& observer);

// How RebootNode() ended if the node did not go down: the step's outcome. nullopt: the agent is
// stopping, and the step has no outcome before the next boot.
using RebootEnd = std::optional<absl::Status>;

// `resource` is the step's, `reason` what its check found. An error: the journal failed, and the
// node stays up. Blocks until the agent is stopped or the reboot has failed.
absl::StatusOr<RebootEnd> RebootNode(PlanContext& context, const v1::RolePlan& role,
                                     const v1::Step& step, Resource& resource,
                                     const std::string& reason, ApplyObserver& observer);

}  // namespace muster::agent
