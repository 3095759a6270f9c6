#include "common/sys/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/file_error.h"

namespace muster::sys {
namespace {

// Deeper than any sensible tree; every level takes two descriptors and stack.
constexpr int kMaxDepth = 200;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool IsDots(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

// Whether `folder` is the root of a mount. Devices alone do not tell: a bind mount has that of the
// folder around it.
bool IsMounted(const Folder& folder, const Folder& parent) {
  struct statx info = {};
  if (::statx(folder.fd(), "", AT_EMPTY_PATH, STATX_TYPE, &info) == 0 &&
      (info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
    return (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  return folder.device() != parent.device();  // a kernel before 5.8
}

bool IsDenied(int result) { return result < 0 && (errno == EACCES || errno == EPERM); }

// The group of root has no other members.
bool OthersMayWrite(const struct stat& info) {
  return (info.st_mode & S_IWOTH) != 0 || ((info.st_mode & S_IWGRP) != 0 && info.st_gid != 0);
}

}  // namespace

bool IsOurs(uid_t uid) { return uid == 0 || uid == ::geteuid(); }

absl::StatusOr<Folder> Folder::Hold(UniqueFd fd, absl::string_view what, const std::string& path) {
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) return FileError(errno, what, path);
  return Folder(std::move(fd), info);
}

absl::StatusOr<Folder> Folder::Enter(const std::string& name, absl::string_view what,
                                     const std::string& path) const {
  UniqueFd child(AsOwner(
      [&] { return ::openat(fd(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
  if (!child.valid()) return FileError(errno, what, path);
  return Hold(std::move(child), what, path);
}

bool Folder::IsUsers() const { return info_.st_uid != 0 && ::geteuid() == 0; }

bool Folder::IsShared() const { return IsUsers() || (OthersMayWrite(info_) && ::geteuid() == 0); }

bool Folder::IsForeign() const {
  return IsUsers() || (IsShared() && (info_.st_mode & S_ISVTX) == 0);
}

int Folder::AsUser(absl::FunctionRef<int()> call, gid_t group) const {
  const ActAs user(info_.st_uid, group);
  if (user.ok()) return call();
  errno = EPERM;
  return -1;
}

int Folder::AsOwner(absl::FunctionRef<int()> call, gid_t group) const {
  if (!IsUsers()) return call();
  const int result = AsUser(call, group);
  return IsDenied(result) ? call() : result;
}

bool Folder::Stat(const std::string& name, struct stat* info) const {
  return AsOwner([&] { return ::fstatat(fd(), name.c_str(), info, AT_SYMLINK_NOFOLLOW); }) == 0;
}

UniqueFd Folder::OpenFile(const std::string& name, int flags) const {
  flags |= O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const auto open = [&] { return ::openat(fd(), name.c_str(), flags, 0600); };
  if (IsUsers()) {
    const int by_user = AsUser(open, kNobodysGroup);
    if (!IsDenied(by_user)) return UniqueFd(by_user);
  }
  UniqueFd file(open());
  struct stat info = {};
  if (!file.valid() || !IsShared() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_nlink == 1)
    return file;
  file.Reset();
  errno = EMLINK;
  return file;
}

UniqueFd Folder::CreateFile(const std::string& name, uid_t owner, gid_t group) const {
  const auto create = [&] {
    return ::openat(fd(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  };
  return UniqueFd(owner == info_.st_uid ? AsOwner(create, group) : create());
}

absl::StatusOr<Folder> Folder::MakeFolder(const std::string& name, mode_t mode, bool ours,
                                          const std::string& path) const {
  const auto make = [&] { return ::mkdirat(fd(), name.c_str(), 0700); };
  if ((ours ? make() : AsOwner(make, group())) != 0) {
    if (errno == EEXIST) return absl::AlreadyExistsError(absl::StrCat(path, " exists"));
    return FileError(errno, "creating", path);
  }
  ASSIGN_OR_RETURN(Folder made, Enter(name, "creating", path));
  // Anybody else who may rename things here may have put another directory in its place. For a
  // directory of the user's that is acceptable; one of ours must be empty.
  const bool theirs = !ours && IsUsers() && made.owner() == owner();
  if (!theirs && IsShared()) {
    bool empty = true;
    RETURN_IF_ERROR(made.ForEachName([&empty](const char*) { return empty = false; }, path));
    if (!IsOurs(made.owner()) || (made.info_.st_mode & 0777) != 0700 || !empty)
      return absl::AbortedError(absl::StrCat(
          "creating ", path, ": somebody else created a directory there in the meantime"));
  }
  ASSIGN_OR_RETURN(const UniqueFd opened, made.Reopen("creating", path));
  // Not by mkdir's own argument: the umask would clear bits.
  RETURN_IF_ERROR(SetAttributes(opened.get(), -1, -1, &mode, path));
  return made;
}

absl::Status Folder::SetAttributes(int file, uid_t uid, gid_t gid, const mode_t* mode,
                                   const std::string& path) const {
  struct stat now = {};
  if (::fstat(file, &now) != 0) return FileError(errno, "reading", path);
  constexpr auto kAsItIs = static_cast<uid_t>(-1);
  const bool set_gid = mode != nullptr && (*mode & S_ISGID) != 0;
  // A file that belonged to a user may be open in the user's hands for ever.
  if (S_ISREG(now.st_mode) && !IsOurs(now.st_uid) &&
      ((uid != kAsItIs && uid != now.st_uid) || set_gid))
    return absl::PermissionDeniedError(
        absl::StrCat("setting the owner and mode of ", path, ": it belongs to uid ", now.st_uid,
                     ", and a new owner would hide that; remove it in an earlier task"));
  const bool only_as_user = S_ISREG(now.st_mode) && now.st_nlink > 1 && IsShared();
  const auto change = [&](absl::FunctionRef<int()> call) {
    if (!only_as_user) return AsOwner(call);
    if (IsUsers()) return AsUser(call, kNobodysGroup);
    errno = EMLINK;
    return -1;
  };
  const bool owner_differs =
      (uid != kAsItIs && uid != now.st_uid) || (gid != static_cast<gid_t>(-1) && gid != now.st_gid);
  // The owner first: chown clears the set-id bits that chmod then sets.
  if (owner_differs && change([&] { return ::fchown(file, uid, gid); }) != 0)
    return FileError(errno, "setting the owner of", path);
  if (mode == nullptr || (!owner_differs && *mode == (now.st_mode & 07777)))
    return absl::OkStatus();
  // For a user who is not a member of the group the kernel sets all but the set-gid bit, silently.
  const auto set_mode = [&] { return ::fchmod(file, *mode); };
  if ((set_gid && !only_as_user ? set_mode() : change(set_mode)) != 0)
    return FileError(errno, "setting the mode of", path);
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> Folder::Reopen(absl::string_view what, const std::string& path) const {
  UniqueFd opened(AsOwner([&] { return ::openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!opened.valid()) return FileError(errno, what, path);
  return opened;
}

absl::Status Folder::ForEachName(absl::FunctionRef<bool(const char* name)> on_name,
                                 const std::string& path) const {
  ASSIGN_OR_RETURN(UniqueFd opened, Reopen("listing", path));
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(opened.get()));
  if (directory == nullptr) return FileError(errno, "listing", path);
  opened.Release();  // it is the directory's now
  errno = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (!IsDots(entry->d_name) && !on_name(entry->d_name)) return absl::OkStatus();
    errno = 0;
  }
  return errno == 0 ? absl::OkStatus() : FileError(errno, "listing", path);
}

absl::StatusOr<std::vector<std::string>> Folder::Names(const std::string& path) const {
  std::vector<std::string> names;
  RETURN_IF_ERROR(ForEachName(
      [&names](const char* name) {
        names.emplace_back(name);
        return true;
      },
      path));
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status Folder::Empty(const std::string& path, int depth) const {
  absl::Status status;
  const absl::Status listed = ForEachName(
      [&](const char* name) {
        const int result = AsOwner([&] { return ::unlinkat(fd(), name, 0); });
        if (result == 0 || errno == ENOENT) return true;
        const std::string child = absl::StrCat(path, "/", name);
        // The errors for removing a directory as a file.
        status = errno == EISDIR || errno == EPERM ? RemoveTree(name, child, depth + 1)
                                                   : FileError(errno, "removing", child);
        return status.ok();
      },
      path);
  return status.ok() ? listed : status;
}

absl::Status Folder::RemoveTree(const std::string& name, const std::string& path, int depth) const {
  if (depth > kMaxDepth)
    return absl::FailedPreconditionError(absl::StrCat("removing ", path,
                                                      ": directories are nested more than ",
                                                      kMaxDepth, " deep; remove them by hand"));
  const absl::StatusOr<Folder> child = Enter(name, "removing", path);
  if (absl::IsNotFound(child.status())) return absl::OkStatus();
  RETURN_IF_ERROR(child.status());
  if (IsMounted(*child, *this))
    return absl::FailedPreconditionError(
        absl::StrCat("removing ", path,
                     ": a file system is mounted there; unmount it first (umount ", path, ")"));
  if (depth > 0 && child->device() != device())
    return absl::FailedPreconditionError(
        absl::StrCat("removing ", path,
                     ": it is on another device than what it lies in, as a subvolume of "
                     "btrfs is; remove it by itself (btrfs subvolume delete ",
                     path, ")"));
  RETURN_IF_ERROR(child->Empty(path, depth));
  const int result = AsOwner([&] { return ::unlinkat(fd(), name.c_str(), AT_REMOVEDIR); });
  return result == 0 || errno == ENOENT ? absl::OkStatus() : FileError(errno, "removing", path);
}

absl::Status Folder::RemoveTree(const std::string& name, const std::string& path) const {
  return RemoveTree(name, path, /*depth=*/0);
}

absl::Status Folder::Sync(const std::string& path) const {
  ASSIGN_OR_RETURN(const UniqueFd opened, Reopen("opening the folder of", path));
  // Some file systems (FUSE, network) cannot sync a folder; the operations on it are complete.
  if (::fsync(opened.get()) != 0 && errno != EINVAL && errno != ENOTSUP)
    return FileError(errno, "syncing the folder of", path);
  return absl::OkStatus();
}

}  // namespace muster::sys
