// Files that are too large to be held in memory.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::sys {

// The digest of a regular file's content in lower-case hex; with `sync` the content is also synced
// to the disk. NotFound: the file does not exist. `cancelled` is asked now and then; true:
// Cancelled.
absl::StatusOr<std::string> Sha256OfFile(const std::string& path, bool sync = false,
                                         const std::function<bool()>& cancelled = {});

}  // namespace muster::sys
