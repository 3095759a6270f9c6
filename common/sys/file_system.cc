#include "common/sys/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/atomic_write.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using DirectoryHandle = std::unique_ptr<DIR, CloseDirectory>;

FileType TypeOf(mode_t mode) {
  if (S_ISREG(mode)) return FileType::kRegular;
  if (S_ISDIR(mode)) return FileType::kDirectory;
  if (S_ISLNK(mode)) return FileType::kSymlink;
  return FileType::kOther;
}

bool IsDots(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

// Empties and removes the directory `name` of `parent`. Descriptors instead of paths, so that
// nobody can swap a directory for a link on the way down.
absl::Status RemoveTree(int parent, const char* name, dev_t device, const std::string& path) {
  UniqueFd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return errno == ENOENT ? absl::OkStatus() : FileError(errno, "opening", path);
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) return FileError(errno, "reading", path);
  if (info.st_dev != device)
    return absl::FailedPreconditionError(absl::StrCat(
        "removing ", path, ": another file system is mounted there; unmount it first"));
  const int copy = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return FileError(errno, "opening", path);
  const DirectoryHandle directory(::fdopendir(copy));
  if (directory == nullptr) return FileError(errno, "opening", path);
  while (const dirent* entry = ::readdir(directory.get())) {
    if (IsDots(entry->d_name)) continue;
    if (::unlinkat(fd.get(), entry->d_name, 0) == 0 || errno == ENOENT) continue;
    const std::string child = absl::StrCat(path, "/", entry->d_name);
    if (errno != EISDIR && errno != EPERM) return FileError(errno, "removing", child);
    RETURN_IF_ERROR(RemoveTree(fd.get(), entry->d_name, device, child));
  }
  if (::unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
    return FileError(errno, "removing", path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> RealFileSystem::Read(const std::string& path, size_t max_bytes) {
  // Non-blocking, so that a FIFO at the path is an error below and not a wait for ever.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd.valid()) return FileError(errno, "reading", path);
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) return FileError(errno, "reading", path);
  if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat("reading ", path, ": not a regular file"));
  std::string content;
  size_t used = 0;
  while (true) {
    // Files of /proc and /sys say that they are empty: read until the end, whatever the size.
    content.resize(std::max<size_t>(
        content.size(),
        used + std::max<size_t>(
                   4096, info.st_size > static_cast<off_t>(used) ? info.st_size - used + 1 : 0)));
    if (content.size() > max_bytes + 1) content.resize(max_bytes + 1);
    const ssize_t count = ::read(fd.get(), content.data() + used, content.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, "reading", path);
    if (count == 0) break;
    used += static_cast<size_t>(count);
    if (used > max_bytes)
      return absl::ResourceExhaustedError(absl::StrCat("reading ", path, ": larger than ",
                                                       max_bytes % (1 << 20) == 0
                                                           ? absl::StrCat(max_bytes >> 20, " MiB")
                                                           : absl::StrCat(max_bytes, " bytes")));
  }
  content.resize(used);
  return content;
}

absl::Status RealFileSystem::WriteAtomically(const std::string& path, const std::string& content,
                                             const WriteOptions& options) {
  return WriteFileAtomically(path, content, options);
}

absl::Status RealFileSystem::WriteToKernel(const std::string& path, const std::string& request) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd.valid()) return FileError(errno, "writing to", path);
  ssize_t written = 0;
  do {
    written = ::write(fd.get(), request.data(), request.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) return FileError(errno, "writing to", path);
  if (static_cast<size_t>(written) == request.size()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("writing to ", path, ": the kernel took ", written,
                                          " of ", request.size(), " bytes"));
}

absl::StatusOr<std::optional<FileStat>> RealFileSystem::Stat(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<FileStat>();
    return FileError(errno, "reading", path);
  }
  return std::optional<FileStat>(
      FileStat{.type = TypeOf(info.st_mode),
               .mode = info.st_mode & 07777,
               .uid = info.st_uid,
               .gid = info.st_gid,
               .size = static_cast<uint64_t>(info.st_size),
               .modified_ns = int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec});
}

absl::Status RealFileSystem::MakeDirectory(const std::string& path, mode_t mode) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    if (::mkdir(parent.c_str(), 0755) != 0 && errno != EEXIST)
      return FileError(errno, "creating", parent);
  }
  if (::mkdir(path.c_str(), 0700) != 0) {
    if (errno != EEXIST) return FileError(errno, "creating", path);
    struct stat info = {};
    if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(path, " exists and is not a directory"));
  }
  // Not by mkdir's own argument: the umask would take bits away.
  if (::chmod(path.c_str(), mode) != 0) return FileError(errno, "setting the mode of", path);
  return absl::OkStatus();
}

absl::Status RealFileSystem::Remove(const std::string& path, bool recursive) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return absl::OkStatus();
    return FileError(errno, "removing", path);
  }
  if (!S_ISDIR(info.st_mode)) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return FileError(errno, "removing", path);
    return absl::OkStatus();
  }
  if (!recursive) {
    if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
    if (errno == ENOTEMPTY || errno == EEXIST)
      return absl::FailedPreconditionError(
          absl::StrCat("removing ", path, ": the directory is not empty"));
    return FileError(errno, "removing", path);
  }
  return RemoveTree(AT_FDCWD, path.c_str(), info.st_dev, path);
}

absl::StatusOr<std::string> RealFileSystem::ReadLink(const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return FileError(errno, "reading the link", path);
  target.resize(static_cast<size_t>(size));
  return target;
}

absl::Status RealFileSystem::MakeSymlink(const std::string& target, const std::string& path) {
  return ReplaceWithSymlink(target, path);
}

absl::Status RealFileSystem::SetAttributes(const std::string& path,
                                           const FileAttributes& attributes) {
  // O_PATH would not allow fchmod; opening a device or FIFO for reading could block.
  const UniqueFd fd(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno == ELOOP)
      return absl::InvalidArgumentError(absl::StrCat(path, " is a symbolic link"));
    return FileError(errno, "opening", path);
  }
  if ((attributes.uid || attributes.gid) &&
      ::fchown(fd.get(), attributes.uid.value_or(-1), attributes.gid.value_or(-1)) != 0)
    return FileError(errno, "setting the owner of", path);
  if (attributes.mode && ::fchmod(fd.get(), *attributes.mode) != 0)
    return FileError(errno, "setting the mode of", path);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> RealFileSystem::List(const std::string& directory) {
  const DirectoryHandle handle(::opendir(directory.c_str()));
  if (handle == nullptr) return FileError(errno, "listing", directory);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(handle.get())) {
    if (!IsDots(entry->d_name)) names.emplace_back(entry->d_name);
    errno = 0;
  }
  if (errno != 0) return FileError(errno, "listing", directory);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace muster::sys
