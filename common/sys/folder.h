// A folder that is held by its descriptor, whatever happens to its path meanwhile.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sys/act_as.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {

// Root, or the user of this process.
bool IsOurs(uid_t uid);

// Every operation takes a name in the folder. In a folder that a user owns, root acts with that
// user's own rights (ActAs) wherever the user may do the same: the kernel decides, and file servers
// that do not trust root serve. A process that is not root has no rights to lend and uses only its
// own. `path` and `what` are for errors: "removing /home/ann/.profile: …". Calls block on the disk.
class Folder {
 public:
  // REQUIRES: `fd` is a directory, open with O_PATH.
  static absl::StatusOr<Folder> Hold(UniqueFd fd, absl::string_view what, const std::string& path);
  // The directory `name` in this one; a link does not count as a directory.
  absl::StatusOr<Folder> Enter(const std::string& name, absl::string_view what,
                               const std::string& path) const;

  // For system calls that take a folder and a name; it can be neither read nor synced.
  int fd() const { return fd_.get(); }
  uid_t owner() const { return info_.st_uid; }
  gid_t group() const { return info_.st_gid; }
  dev_t device() const { return info_.st_dev; }
  // True if anybody but root may put things here.
  bool IsShared() const;
  // True if anybody but root may take root's own things away from here and put others in their
  // place.
  bool IsForeign() const;

  // Makes a system call that returns a value below 0 and sets errno when it fails. In a user's
  // folder it is made as that user or, where the user may not, as ourselves. New files get `group`.
  int AsOwner(absl::FunctionRef<int()> call, gid_t group = kNobodysGroup) const;

  // Describes what is at `name`, without following a link. False with errno: nothing is there, or
  // it cannot be examined.
  bool Stat(const std::string& name, struct stat* info) const;
  // Opens an existing file, but no link (ELOOP), without waiting for the other end of a FIFO. As
  // ourselves it refuses a file with several names where others may have made one of them (EMLINK).
  // A file made by O_CREAT has mode 0600. Invalid with errno: it cannot be opened.
  UniqueFd OpenFile(const std::string& name, int flags) const;
  // A new file for writing and reading, with mode 0600. The folder's owner makes it if they are to
  // own it; otherwise it never belongs to them, not even for an instant. Invalid with errno.
  UniqueFd CreateFile(const std::string& name, uid_t owner, gid_t group) const;
  // A new directory. AlreadyExists: the name is taken. `ours`: we own it, even in a user's folder.
  absl::StatusOr<Folder> MakeFolder(const std::string& name, mode_t mode, bool ours,
                                    const std::string& path) const;

  // Sets the owner and the group (-1: unchanged) and the mode (nullptr: unchanged) of an open file
  // that lies here. PermissionDenied where a file with a user's content would become one that
  // others trust, or where it has several names and others may have made one of them.
  absl::Status SetAttributes(int file, uid_t uid, gid_t gid, const mode_t* mode,
                             const std::string& path) const;

  // The folder itself, for reading, syncing and changing.
  absl::StatusOr<UniqueFd> Reopen(absl::string_view what, const std::string& path) const;
  // Calls `on_name` for each name except "." and "..", in no particular order, until it returns
  // false.
  absl::Status ForEachName(absl::FunctionRef<bool(const char* name)> on_name,
                           const std::string& path) const;
  // Sorted.
  absl::StatusOr<std::vector<std::string>> Names(const std::string& path) const;
  // Empties and removes the directory `name` without following links. It is a success if nothing is
  // there. FailedPrecondition where something is mounted, be it `name` itself: that is left alone.
  absl::Status RemoveTree(const std::string& name, const std::string& path) const;
  // Makes the folder's list of names durable.
  absl::Status Sync(const std::string& path) const;

 private:
  Folder(UniqueFd fd, const struct stat& info) : fd_(std::move(fd)), info_(info) {}
  bool IsUsers() const;
  int AsUser(absl::FunctionRef<int()> call, gid_t group) const;
  absl::Status Empty(const std::string& path, int depth) const;
  absl::Status RemoveTree(const std::string& name, const std::string& path, int depth) const;

  UniqueFd fd_;
  struct stat info_;
};

}  // namespace muster::sys
