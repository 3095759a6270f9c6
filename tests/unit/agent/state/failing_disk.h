// The disk under one directory, with faults: the system calls of this process that change files
// there are counted, and fail, or stop with the machine, where a test says so.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace muster::testing {

// Stands behind write, fsync, fdatasync, rename, unlink, ftruncate and open with O_CREAT, which the
// linker leads here (--wrap in CMakeLists.txt). One at a time; not thread-safe.
//
// It keeps what a power cut would leave: of a file what was synced, of a name what it stood for
// when the directory was synced. A sync that fails loses what it should have written for good, as
// Linux's page cache does.
class FailingDisk {
 public:
  explicit FailingDisk(std::string directory);
  ~FailingDisk();
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;

  // Operations `first` (from 1, counted anew) to `first + count - 1` fail with `error`; a write
  // writes half before it does.
  void FailAt(int first, int count, int error);
  // The machine stops in operation `number`: nothing reaches the disk any more. A write gets half
  // way.
  void StopAt(int number);
  // Works again, as after FailAt() or StopAt() was never called.
  void Mend();
  // Puts the directory into the state that a power cut leaves.
  void CutPower();

  bool stopped() const { return stopped_; }
  // Of the operations since the last order: "write journal".
  const std::vector<std::string>& log() const { return log_; }

  // For the wrapped calls. `path` is absolute; what Begin() answers is 0 or the error to fail with.
  static FailingDisk* Of(const std::string& path);
  int Begin(const std::string& operation, const std::string& path);
  void Created(const std::string& path);
  void Synced(int fd, const std::string& path);
  void SyncFailed(int fd);

 private:
  using Range = std::pair<size_t, size_t>;
  static std::string Content(const std::string& path);

  const std::string directory_;
  int first_ = 0;
  int last_ = -1;
  int error_ = 0;
  int stop_at_ = 0;
  bool stopped_ = false;
  std::vector<std::string> log_;
  std::map<ino_t, std::string> synced_;                           // contents that are on the disk
  std::map<ino_t, std::vector<Range>> lost_;                      // of files, by a sync that failed
  std::map<std::string, std::pair<ino_t, std::string>> durable_;  // by name
};

}  // namespace muster::testing
