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

// Intercepts write, fsync, fdatasync, rename, unlink, ftruncate and open with O_CREAT, which the
// linker redirects here (--wrap in CMakeLists.txt). One at a time; not thread-safe.
//
// It keeps the state that a power cut would leave: for a file the synced content, for a name the
// file that it referred to when the directory was synced. A sync that fails loses for good the data
// that it should have written, as Linux's page cache does.
class FailingDisk {
 public:
  explicit FailingDisk(std::string directory);
  ~FailingDisk();
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;

  // Operations `first` (from 1, counted anew) to `first + count - 1` fail with `error`; a failing
  // write writes half before.
  void FailAt(int first, int count, int error);
  // The machine stops in operation `number`: nothing reaches the disk from then on. A write is half
  // done.
  void StopAt(int number);
  // Works again, as if FailAt() or StopAt() had never been called.
  void Mend();
  // Puts the directory into the state that a power cut leaves.
  void CutPower();

  bool stopped() const { return stopped_; }
  // The operations since the last order: "write journal".
  const std::vector<std::string>& log() const { return log_; }

  // For the wrapped calls. `path` is absolute; Begin() returns 0 or the error to fail with.
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
  std::map<ino_t, std::string> synced_;                           // contents on the disk
  std::map<ino_t, std::vector<Range>> lost_;                      // of files, by a failed sync
  std::map<std::string, std::pair<ino_t, std::string>> durable_;  // by name
};

}  // namespace muster::testing
