// The rollouts by which the controller reboots nodes itself.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::controller {

class BlobStore;
class Store;

// Packs the playbook of `muster node reboot`, and stores the bundle unless it is there already; its
// digest.
absl::StatusOr<std::string> StoreRebootBundle(Store& store, BlobStore& blobs, absl::Time now);

}  // namespace muster::controller
