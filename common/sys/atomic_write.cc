#include "common/sys/atomic_write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {
namespace {

std::string Folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// In the same folder, because rename(2) does not cross file systems; hidden, because programs
// that read a whole folder (conf.d) skip such names.
std::string TemporaryName(const std::string& path) {
  const size_t slash = path.rfind('/');
  return absl::StrCat(Folder(path), "/.", path.substr(slash == std::string::npos ? 0 : slash + 1),
                      NewShortId(".muster"));
}

absl::Status WriteAll(int fd, absl::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return FileError(errno, "writing", path);
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status SyncFolder(const std::string& path) {
  const UniqueFd folder(::open(Folder(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return FileError(errno, "opening the folder of", path);
  // Some file systems (FUSE, network) cannot sync a folder; the rename itself is done.
  if (::fsync(folder.get()) != 0 && errno != EINVAL && errno != ENOTSUP)
    return FileError(errno, "syncing the folder of", path);
  return absl::OkStatus();
}

absl::Status Rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    if (errno == EISDIR)
      return absl::FailedPreconditionError(
          absl::StrCat(to, " is a directory; remove it first if a file should take its place"));
    return FileError(errno, "replacing", to);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FileError(int error, absl::string_view what, const std::string& path) {
  if (error == ENOSPC || error == EDQUOT)
    return absl::ResourceExhaustedError(
        absl::StrCat(what, " ", path, ": no space left on its file system; free some there (df ",
                     Folder(path), ") and run again; nothing was changed"));
  if (error == EROFS)
    return absl::FailedPreconditionError(
        absl::StrCat(what, " ", path,
                     ": its file system is read-only; remount it read-write "
                     "(dmesg tells whether disk errors made it so) and run again"));
  return ErrnoStatus(error, absl::StrCat(what, " ", path));
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content,
                                 const WriteOptions& options) {
  struct stat old = {};
  const bool replaces = ::lstat(path.c_str(), &old) == 0;
  if (replaces && S_ISDIR(old.st_mode))
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is a directory; remove it first if a file should take its place"));
  const bool keeps = replaces && S_ISREG(old.st_mode);
  const mode_t mode = options.mode.value_or(keeps ? old.st_mode & 07777 : 0644);
  const uid_t uid = options.uid.value_or(keeps ? old.st_uid : ::geteuid());
  const gid_t gid = options.gid.value_or(keeps ? old.st_gid : ::getegid());

  const std::string temporary = TemporaryName(path);
  UniqueFd fd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError(errno, "creating", path);
  absl::Cleanup remove = [&temporary] { ::unlink(temporary.c_str()); };

  RETURN_IF_ERROR(WriteAll(fd.get(), content, path));
  // The owner first: chown clears the set-id bits that chmod then sets.
  if ((uid != ::geteuid() || gid != ::getegid()) && ::fchown(fd.get(), uid, gid) != 0)
    return FileError(errno, "setting the owner of", path);
  if (::fchmod(fd.get(), mode) != 0) return FileError(errno, "setting the mode of", path);
  if (::fsync(fd.get()) != 0) return FileError(errno, "syncing", path);
  // Closed before it is verified or run: an open writer means "text file busy".
  fd.Reset();
  if (options.verify) RETURN_IF_ERROR(options.verify(temporary));
  RETURN_IF_ERROR(Rename(temporary, path));
  std::move(remove).Cancel();
  return SyncFolder(path);
}

absl::Status ReplaceWithSymlink(const std::string& target, const std::string& path) {
  const std::string temporary = TemporaryName(path);
  if (::symlink(target.c_str(), temporary.c_str()) != 0) return FileError(errno, "linking", path);
  absl::Cleanup remove = [&temporary] { ::unlink(temporary.c_str()); };
  RETURN_IF_ERROR(Rename(temporary, path));
  std::move(remove).Cancel();
  return SyncFolder(path);
}

}  // namespace muster::sys
