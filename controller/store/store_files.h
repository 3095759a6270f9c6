// What others do to the files of a store while it is open.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/store/soci/headers.h"

namespace muster::controller {

// SQLite keeps its descriptors and its cache. Over a file that was moved, replaced or cut off it
// goes on and says that all is stored, until the next start finds none of it. So the files are
// looked at before each transaction. Not thread-safe.
class StoreFiles {
 public:
  // `path` of the database.
  explicit StoreFiles(std::string path) : path_(std::move(path)) {}

  // Takes the files for right as they are. Call when SQLite has them open.
  void Remember();
  // Call after each change.
  void RememberGrowth();
  // Whether one is shorter than it was, which SQLite itself does only where a tool compacts the
  // file. FailedPrecondition, with the remedy: one is not there any more, or another one is.
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

// Whether the database file is as long as its header says. REQUIRES: all is checkpointed.
bool IsWhole(soci::session& session);

}  // namespace muster::controller
