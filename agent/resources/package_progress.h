// How steps show what the package manager does for them.
#pragma once

#include "agent/sys/package_manager.h"

namespace muster::agent {

class ApplyObserver;

// Tells `observer`, which must outlive the transaction, its activity and each line of its output.
PackageObserver ShowProgress(ApplyObserver& observer);

}  // namespace muster::agent
