// What backups have written and not finished: how it is named, and how it goes when one is
// interrupted.
#pragma once

#include <signal.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/sys/unique_fd.h"

namespace muster::controller {

// The two kinds of such entries: folders ".muster-backup-XXXXXX", and files ".FILE.partial-PID".
enum class Leftover { kStaging, kPartial };
// The beginning of a folder's name, which mkdtemp() completes.
inline constexpr char kStagingPrefix[] = ".muster-backup-";
std::string PartialName(absl::string_view file);
bool IsLeftover(Leftover kind, absl::string_view name);

// Holds a folder, among the processes that make backups in it, by a shared flock(2). Where no other
// process has it, first removes the leftovers of that kind that are ours: those of the current user
// and, in a folder to which nobody else may write, all. Where the folder cannot be locked, as on a
// file server without locks, or where another holds it for itself for longer than some seconds,
// nothing is removed.
class FolderShare {
 public:
  FolderShare(const std::string& folder, Leftover kind);

 private:
  sys::UniqueFd fd_;
};

// A file, or a folder with its contents, that is removed by the destructor, or by
// RemoveUnfinished() before that. Objects may be used by several threads, but one object by one at
// a time.
class Unfinished {
 public:
  Unfinished(Leftover kind, std::string path);
  ~Unfinished();
  Unfinished(Unfinished&& other) noexcept
      : kind_(other.kind_), path_(std::exchange(other.path_, "")) {}
  const std::string& path() const { return path_; }
  // It is complete and has its own name.
  void Keep();
  // RemoveUnfinished() leaves it alone from now on: others depend on what is in it. The destructor
  // still removes it.
  void KeepAtSignal();

 private:
  const Leftover kind_;
  std::string path_;
};
// Removes all that is unfinished in this process. The process must end then: threads that make,
// keep or remove an Unfinished afterwards wait for ever.
void RemoveUnfinished();

// While it lives, SIGHUP, SIGINT and SIGTERM end the process after RemoveUnfinished(), unless they
// were ignored. To be made before other threads are.
class CleanEnd {
 public:
  CleanEnd();
  ~CleanEnd();
  CleanEnd(const CleanEnd&) = delete;

 private:
  sigset_t signals_;
  sigset_t before_;
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace muster::controller
