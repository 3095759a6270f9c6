// Approves what administrators applied before approvals existed.
#pragma once

#include "absl/status/status.h"

namespace muster::controller {

class BundleApprovals;
class Store;

// Approves what the newest runs of administrators in the store applied whole; does nothing if there
// is any approval, even a revoked one. Call at the start, before runs are created.
absl::Status AdoptEarlierRuns(Store& store, BundleApprovals& approvals);

}  // namespace muster::controller
