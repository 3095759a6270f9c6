// Detects changes that others make to the files of a store while it is open.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/store/soci/headers.h"

namespace muster::controller {

// SQLite keeps its descriptors and its cache. If a file was moved, replaced or truncated, it
// continues and reports everything as stored, until the next start finds none of it. So the files
// are checked before each transaction. Not thread-safe.
class StoreFiles {
 public:
  // `path` is the database's.
  explicit StoreFiles(std::string path) : path_(std::move(path)) {}

  // Accepts the files as they are. Call when SQLite has them open.
  void Remember();
  // Call after each change.
  void RememberGrowth();
  // Whether a file is shorter than it was, which SQLite itself causes only when a tool compacts the
  // file. FailedPrecondition, with the remedy: a file is missing, or has been replaced.
  absl::StatusOr<bool> HaveShrunk() const;

 private:
  struct File {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
  };
  const std::string path_;
  std::vector<File> files_;
};

// Whether the database file is as long as its header says. REQUIRES: everything is checkpointed.
bool IsWhole(soci::session& session);

}  // namespace muster::controller
