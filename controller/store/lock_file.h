// Allows one process per store.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace muster::controller {

// Holds an exclusive lock on a file until it is destroyed or the process ends, however it ends.
class LockFile {
 public:
  // Creates `path` (mode 0600) if need be and writes our pid into it. Never blocks.
  // FailedPrecondition names the process that holds the lock.
  static absl::StatusOr<std::unique_ptr<LockFile>> Acquire(const std::string& path);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  explicit LockFile(int fd) : fd_(fd) {}
  const int fd_;
};

}  // namespace muster::controller
