// To what a rollout goes back, and how: the bundle, the stacks and the images of before.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::v1 {
class CreateRolloutRequest;
}
namespace muster::controller {
class Inventory;
}

namespace muster::controller::rollout {

struct ActiveRollout;
struct RolloutCollaborators;

// Notes in the rollout to what it would go back: to another bundle, or with other images or a stack
// to what the nodes had before they were given them. `inventory`: the one in force.
absl::Status FindWayBack(const RolloutCollaborators& with, const Inventory& inventory,
                         const std::vector<std::string>& workers, ActiveRollout& rollout);

// The nodes whose update the rollout has begun.
struct TouchedNodes {
  std::vector<std::string> here;
  std::vector<std::string> gone;  // the cluster does not have them any more, or has another machine
};
absl::StatusOr<TouchedNodes> TouchedBy(const RolloutCollaborators& with,
                                       const ActiveRollout& rollout);

// The variables by which a rollout that takes another back gives the node what it had before, name
// → JSON; none for any other rollout. Nobody has asked for them by name.
std::map<std::string, std::string> GivenBack(const v1::CreateRolloutRequest& request,
                                             const std::string& node);

// What a person has to undo after the rollout was taken back, for people: "; the inventory still
// …". "": nothing.
std::string LeftToUndo(const RolloutCollaborators& with, const ActiveRollout& rollout);

}  // namespace muster::controller::rollout
