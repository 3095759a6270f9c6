// Copies a store's file, even one that musterd has open.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::controller {

// Writes the content that the store at `from` has at one instant to the new file `to` (mode 0600).
// Neither waits for a writer nor delays one. Blocks for seconds with gigabytes. AlreadyExists: the
// file `to` exists. Otherwise the errors of OpenStore().
absl::Status CopyStore(const std::string& from, const std::string& to);

// Checks every page, index and constraint of a file that nobody has open: more than OpenStore()
// checks. DataLoss with what is wrong.
absl::Status CheckStoreThoroughly(const std::string& path);

}  // namespace muster::controller
