// Opens the SQLite store.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "controller/store/store.h"

namespace muster::controller {

// Opens the store at `path`, or for ":memory:" one that lives as long as the object; creates it if
// it is missing (mode 0600; the folder must exist) and brings its schema up to date. Blocks while
// it checks the file: seconds for gigabytes. A lock on `path`.lock keeps the file to one process at
// a time.
// Errors, each with its remedy: FailedPrecondition (another process holds it; it was written by a
// newer musterd), DataLoss (the file is damaged), ResourceExhausted (disk full), NotFound or
// PermissionDenied (the folder).
// The store must not be called again inside View and Update. Each View keeps one of few
// connections: do slow work with what it has read afterwards.
absl::StatusOr<std::unique_ptr<Store>> OpenStore(const std::string& path);

}  // namespace muster::controller
