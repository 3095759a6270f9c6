// Tells the root of an image from a machine.
#pragma once

#include "absl/status/status.h"
#include "common/sys/file_system.h"

namespace muster::agent {

// OK in a root that images can be built of. What is done there is right for a root that nobody uses
// and wrong for a machine, so FailedPrecondition where systemd is running, and where this process
// has the rights of the machine's own root: the builder maps users.
absl::Status CheckIsRoot(sys::FileSystem& files);

}  // namespace muster::agent
