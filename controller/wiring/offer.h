// What the controller offers to its nodes.
#pragma once

#include "controller/playbook/compiler.h"

namespace muster::controller {

struct Config;

namespace snapshot {
class SnapshotStore;
}

// Reads the packages anew, so that those of an upgrade count at once; a folder that cannot be read
// offers none. Blocks for the disk.
ControllerOffer OfferOf(const Config& config, const snapshot::SnapshotStore& snapshots);

}  // namespace muster::controller
