// The file system under SQLite, with faults where a test wants them.
#pragma once

#include "controller/store/soci/headers.h"

namespace muster::testing {

// SQLite's default while it exists; operations that it does not fail go to the real one. Counts the
// operations by which SQLite changes or keeps files: writes, syncs and truncations. One at a time;
// not thread-safe.
class FailingVfs {
 public:
  FailingVfs();
  ~FailingVfs();
  FailingVfs(const FailingVfs&) = delete;
  FailingVfs& operator=(const FailingVfs&) = delete;

  // Operations `first` (from 1, counted anew) to `first + count - 1` fail with `error`, SQLITE_FULL
  // or SQLITE_IOERR; a failing write is half done.
  void FailAt(int first, int count, int error);
  int operations() const { return operations_; }

  // For the file system itself: SQLITE_OK or the error to fail with.
  int Begin();

 private:
  sqlite_api::sqlite3_vfs vfs_;
  int operations_ = 0;
  int first_ = 0;
  int last_ = -1;
  int error_ = SQLITE_OK;
};

}  // namespace muster::testing
