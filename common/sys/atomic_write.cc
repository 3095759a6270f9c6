#include "common/sys/atomic_write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/leftovers.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {
namespace {

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
  const UniqueFd folder(::open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return FileError(errno, "opening the folder of", path);
  // Some file systems (FUSE, network) cannot sync a folder; the rename itself is done.
  if (::fsync(folder.get()) != 0 && errno != EINVAL && errno != ENOTSUP)
    return FileError(errno, "syncing the folder of", path);
  return absl::OkStatus();
}

// What a file that takes the place of another one gets.
struct Attributes {
  mode_t mode = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

absl::StatusOr<Attributes> NewAttributes(const std::string& path, const WriteOptions& options) {
  struct stat old = {};
  const bool replaces = ::lstat(path.c_str(), &old) == 0;
  if (replaces && S_ISDIR(old.st_mode))
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is a directory; remove it first if a file should take its place"));
  const bool keeps = replaces && S_ISREG(old.st_mode);
  return Attributes{.mode = options.mode.value_or(keeps ? old.st_mode & 07777 : 0644),
                    .uid = options.uid.value_or(keeps ? old.st_uid : ::geteuid()),
                    .gid = options.gid.value_or(keeps ? old.st_gid : ::getegid())};
}

absl::Status SetAndSync(int fd, const Attributes& attributes, const std::string& path) {
  // The owner first: chown clears the set-id bits that chmod then sets.
  if ((attributes.uid != ::geteuid() || attributes.gid != ::getegid()) &&
      ::fchown(fd, attributes.uid, attributes.gid) != 0)
    return FileError(errno, "setting the owner of", path);
  if (::fchmod(fd, attributes.mode) != 0) return FileError(errno, "setting the mode of", path);
  if (::fsync(fd) != 0) return FileError(errno, "syncing", path);
  return absl::OkStatus();
}

absl::Status CopyAll(int from, int to, const std::string& path) {
  // In the kernel where the file systems can; some even share the blocks.
  for (ssize_t copied = 1; copied > 0;)
    copied = ::copy_file_range(from, nullptr, to, nullptr, size_t{64} << 20, 0);
  std::string block(size_t{1} << 20, '\0');
  while (true) {
    const ssize_t count = ::read(from, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, "reading the new content of", path);
    if (count == 0) return absl::OkStatus();
    RETURN_IF_ERROR(
        WriteAll(to, absl::string_view(block.data(), static_cast<size_t>(count)), path));
  }
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
                     FolderOf(path), ") and run again; nothing was changed"));
  if (error == EROFS)
    return absl::FailedPreconditionError(
        absl::StrCat(what, " ", path,
                     ": its file system is read-only; remount it read-write "
                     "(dmesg tells whether disk errors made it so) and run again"));
  return ErrnoStatus(error, absl::StrCat(what, " ", path));
}

namespace {

// `fill` writes the new content to the descriptor it gets.
absl::Status ReplaceFile(const std::string& path, absl::FunctionRef<absl::Status(int)> fill,
                         const WriteOptions& options) {
  ASSIGN_OR_RETURN(const Attributes attributes, NewAttributes(path, options));
  RemoveLeftovers(path, FirstWrite());
  const std::string temporary = TemporaryName(path);
  UniqueFd fd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError(errno, "creating", path);
  absl::Cleanup remove = [&temporary] { ::unlink(temporary.c_str()); };

  RETURN_IF_ERROR(fill(fd.get()));
  RETURN_IF_ERROR(SetAndSync(fd.get(), attributes, path));
  // Closed before it is verified or run: an open writer means "text file busy".
  fd.Reset();
  if (options.verify) RETURN_IF_ERROR(options.verify(temporary));
  RETURN_IF_ERROR(Rename(temporary, path));
  std::move(remove).Cancel();
  return SyncFolder(path);
}

}  // namespace

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content,
                                 const WriteOptions& options) {
  return ReplaceFile(
      path, [&](int fd) { return WriteAll(fd, content, path); }, options);
}

absl::Status PlaceFile(const std::string& from, const std::string& path,
                       const WriteOptions& options, bool may_move) {
  UniqueFd source(::open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!source.valid()) return FileError(errno, "opening", from);
  struct stat there = {};
  struct stat folder = {};
  if (::fstat(source.get(), &there) != 0) return FileError(errno, "reading", from);
  const bool same_disk =
      ::stat(FolderOf(path).c_str(), &folder) == 0 && folder.st_dev == there.st_dev;
  if (may_move && same_disk && there.st_nlink == 1 && !options.verify) {
    ASSIGN_OR_RETURN(const Attributes attributes, NewAttributes(path, options));
    RETURN_IF_ERROR(SetAndSync(source.get(), attributes, path));
    if (::rename(from.c_str(), path.c_str()) == 0) return SyncFolder(path);
    // Two mounts of one file system, for instance: what a copy can do, it does.
    if (errno != EXDEV) return FileError(errno, "replacing", path);
  }
  return ReplaceFile(
      path, [&](int fd) { return CopyAll(source.get(), fd, path); }, options);
}

absl::Status ReplaceWithSymlink(const std::string& target, const std::string& path) {
  RemoveLeftovers(path, FirstWrite());
  const std::string temporary = TemporaryName(path);
  if (::symlink(target.c_str(), temporary.c_str()) != 0) return FileError(errno, "linking", path);
  absl::Cleanup remove = [&temporary] { ::unlink(temporary.c_str()); };
  RETURN_IF_ERROR(Rename(temporary, path));
  std::move(remove).Cancel();
  return SyncFolder(path);
}

}  // namespace muster::sys
