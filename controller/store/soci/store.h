// Opens the SQLite store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/store/store.h"

namespace muster::controller {

// What a restore puts beside the store's path before it touches anything else, and renames to that
// path at its end: as long as it is there, the restore is not complete.
inline constexpr char kRestoreSuffix[] = ".restore";

// Opens the store at `path`, or for ":memory:" one that lives as long as the object; creates it if
// it is missing (mode 0600; the folder must exist) and brings its schema up to date. Blocks while
// it checks the file: seconds for gigabytes, see LongestCheck(). A lock on `path`.lock keeps the
// file to one process at a time. Errors, each with its remedy: FailedPrecondition (another process
// holds it; it was written by a newer musterd; a restore was interrupted), DataLoss (the file is
// damaged, or gone and has left its log), ResourceExhausted (disk full), NotFound or
// PermissionDenied (the folder). The store must not be called again inside View and Update. Each
// View keeps one of few connections: do slow work with what it has read afterwards.
absl::StatusOr<std::unique_ptr<Store>> OpenStore(const std::string& path);

// How long OpenStore() may take to check a file of this size on a slow disk.
absl::Duration LongestCheck(uint64_t bytes);

}  // namespace muster::controller
