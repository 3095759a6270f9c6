// Opens the store over SQLite.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "controller/store/store.h"

namespace muster::controller {

// Opens the store at `path`, or one that lives as long as the object for ":memory:"; makes it if
// it is not there (mode 0600; the folder must exist) and brings its schema up to date. Blocks
// while it checks the file, seconds for gigabytes. A file is held by one process at a time, by a
// lock on `path`.lock.
// Errors, each with its remedy: FailedPrecondition (another process holds it; it was written by
// a newer musterd), DataLoss (the file is damaged), ResourceExhausted (disk full), NotFound or
// PermissionDenied (the folder).
// Inside View and Update the store must not be called again. Views keep one of few connections
// each: what takes long is done with what they have read, afterwards.
absl::StatusOr<std::unique_ptr<Store>> OpenStore(const std::string& path);

}  // namespace muster::controller
