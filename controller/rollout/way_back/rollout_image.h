// The images on the disks of a rollout's nodes: whether it moves them to others, and the way back.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace muster::v1 {
class CreateRolloutRequest;
}
namespace muster::controller {
class Inventory;
class Store;
}  // namespace muster::controller

namespace muster::controller::rollout {

struct ActiveRollout;

// Notes in the rollout's request which builds its nodes run from their disks, as they told last.
// What names no build is left out: variables are templates, and nodes do not write those.
absl::Status NoteImages(Store& store, ActiveRollout& rollout);

// The nodes to which the inventory gives another build than the noted one.
std::vector<std::string> NodesToOtherImages(const Inventory& inventory,
                                            const v1::CreateRolloutRequest& request);

// What a person has to do after such a rollout was taken back, for people: "; the inventory still
// …". "": it moved nobody to another image.
std::string StillNamed(const Inventory& inventory, const v1::CreateRolloutRequest& request);

}  // namespace muster::controller::rollout
