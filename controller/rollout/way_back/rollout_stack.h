// The stacks of a rollout's nodes: a move to another one, and the way back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::v1 {
class CreateRolloutRequest;
}
namespace muster::controller {
class Inventory;
}

namespace muster::controller::rollout {

struct Application;
struct RolloutCollaborators;

// The name of the stack that the inventory gives to the node, as it is written there; "": none.
std::string StackOf(const Inventory& inventory, absl::string_view node);

// FailedPrecondition, with the place and the remedy: the inventory gives one of these nodes another
// stack.
absl::Status CheckStackInForce(const Inventory& inventory, const std::string& stack,
                               const std::vector<std::string>& nodes);

// The newest of the `applications` (newest first) to all of the nodes after which one of them had
// another stack than `stack`; nullptr: there is none.
absl::StatusOr<const Application*> BeforeStack(const RolloutCollaborators& with,
                                               const std::vector<Application>& applications,
                                               const std::string& stack,
                                               const std::vector<std::string>& nodes);

// What a person has to do after such a rollout was taken back, for people: "; the inventory still
// …". "": it moved nobody. `revision` is the one in force when it began.
std::string StillChosen(const RolloutCollaborators& with, const v1::CreateRolloutRequest& request,
                        uint64_t revision, const std::vector<std::string>& nodes);

// Makes of a request that moved these nodes to a stack one that gives them the stacks of
// `revision_before`; does nothing to any other. A node that is not in that revision keeps what the
// inventory says.
absl::Status TakeStackBack(const RolloutCollaborators& with, const std::vector<std::string>& nodes,
                           v1::CreateRolloutRequest& request);

}  // namespace muster::controller::rollout
