// Shows the package manager's work for steps.
#pragma once

#include "agent/sys/package_manager.h"

namespace muster::agent {

class ApplyObserver;

// Reports to `observer`, which must outlive the transaction, the activity and each line of output.
PackageObserver ShowProgress(ApplyObserver& observer);

}  // namespace muster::agent
