// A folder that is held by its descriptor, whatever becomes of its path meanwhile.
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

// Everything happens by a name in the folder. In a folder that a user owns, root does what that
// user may do with the user's own rights (ActAs): the kernel decides, and file servers that do not
// trust root serve. A process that is not root has no rights to lend and only its own to use.
// `path` and `what` are for errors: "removing /home/ann/.profile: …". Calls block on the disk.
class Folder {
 public:
  // REQUIRES: `fd` is a directory, open with O_PATH.
  static absl::StatusOr<Folder> Hold(UniqueFd fd, absl::string_view what, const std::string& path);
  // The directory `name` in this one; a link is none.
  absl::StatusOr<Folder> Enter(const std::string& name, absl::string_view what,
                               const std::string& path) const;

  // For system calls that take a folder and a name; it can be neither read nor synced.
  int fd() const { return fd_.get(); }
  uid_t owner() const { return info_.st_uid; }
  gid_t group() const { return info_.st_gid; }
  dev_t device() const { return info_.st_dev; }
  // Somebody else than root may put things here.
  bool IsShared() const;
  // Somebody else than root may take root's own things away from here, and put others in their
  // place.
  bool IsForeign() const;

  // Makes a system call, which returns below 0 and sets errno when it fails. In a user's folder it
  // is made as that user, and where the user may not, as ourselves. New files get `group`.
  int AsOwner(absl::FunctionRef<int()> call, gid_t group = kNobodysGroup) const;

  // What is at `name`, a link itself. False with errno: there is nothing, or it cannot be told.
  bool Stat(const std::string& name, struct stat* info) const;
  // Opens what is there, but no link (ELOOP), and without waiting for the other end of a FIFO. As
  // ourselves no file that has several names, where others may have made one of them (EMLINK).
  // What O_CREAT makes has mode 0600. Invalid with errno: it cannot be opened.
  UniqueFd OpenFile(const std::string& name, int flags) const;
  // A new file to write and to read, with mode 0600. It is made by the folder's owner where they
  // are to own it, and is never theirs for an instant where they are not. Invalid with errno.
  UniqueFd CreateFile(const std::string& name, uid_t owner, gid_t group) const;
  // A new directory. AlreadyExists: there is something. `ours`: ourselves own it, even in a
  // user's folder.
  absl::StatusOr<Folder> MakeFolder(const std::string& name, mode_t mode, bool ours,
                                    const std::string& path) const;

  // Sets the owner and the group (-1: as it is) and the mode (nullptr: as it is) of what is open
  // and lies here. PermissionDenied where a file with a user's content would become one that
  // others trust, or where it has several names and others may have made one of them.
  absl::Status SetAttributes(int file, uid_t uid, gid_t gid, const mode_t* mode,
                             const std::string& path) const;

  // The folder itself, to read, to sync and to change.
  absl::StatusOr<UniqueFd> Reopen(absl::string_view what, const std::string& path) const;
  // Calls `on_name` for each name but "." and "..", in no order, until it returns false.
  absl::Status ForEachName(absl::FunctionRef<bool(const char* name)> on_name,
                           const std::string& path) const;
  // Sorted.
  absl::StatusOr<std::vector<std::string>> Names(const std::string& path) const;
  // Empties and removes the directory `name` without following links or leaving its file system.
  // Nothing there is success.
  absl::Status RemoveTree(const std::string& name, const std::string& path) const;
  // Makes durable which names there are.
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
