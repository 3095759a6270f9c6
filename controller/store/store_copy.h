// Copies of a store's file, also of one that musterd has open.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::controller {

// Writes what the store at `from` holds at one instant to the new file `to` (mode 0600). Neither
// waits for a writer nor holds one up. Blocks for seconds with gigabytes. AlreadyExists: there is a
// file `to`. Errors otherwise as of OpenStore().
absl::Status CopyStore(const std::string& from, const std::string& to);

// Every page, index and constraint of a file that nobody has open: more than OpenStore() looks at.
// DataLoss with what is wrong.
absl::Status CheckStoreThoroughly(const std::string& path);

}  // namespace muster::controller
