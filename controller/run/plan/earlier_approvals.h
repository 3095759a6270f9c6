// Approvals for what administrators applied before there were any.
#pragma once

#include "absl/status/status.h"

namespace muster::controller {

class BundleApprovals;
class Store;

// Approves what the newest runs of administrators in the store applied whole; does nothing once
// there is any approval, revoked ones included. Call at the start, before runs are created.
absl::Status AdoptEarlierRuns(Store& store, BundleApprovals& approvals);

}  // namespace muster::controller
