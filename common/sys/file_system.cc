#include "common/sys/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/atomic_write.h"
#include "common/sys/file_error.h"
#include "common/sys/place.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {
namespace {

FileType TypeOf(mode_t mode) {
  if (S_ISREG(mode)) return FileType::kRegular;
  if (S_ISDIR(mode)) return FileType::kDirectory;
  if (S_ISLNK(mode)) return FileType::kSymlink;
  return FileType::kOther;
}

FileStat ToFileStat(const struct stat& info) {
  return {.type = TypeOf(info.st_mode),
          .mode = info.st_mode & 07777,
          .uid = info.st_uid,
          .gid = info.st_gid,
          .size = static_cast<uint64_t>(info.st_size),
          .modified_ns = int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec};
}

absl::StatusOr<std::string> ReadAll(int fd, const struct stat& info, size_t max_bytes,
                                    const std::string& path) {
  std::string content;
  size_t used = 0;
  while (true) {
    // Files of /proc and /sys report a size of 0: read until the end, whatever the size.
    content.resize(std::max<size_t>(
        content.size(),
        used + std::max<size_t>(
                   4096, info.st_size > static_cast<off_t>(used) ? info.st_size - used + 1 : 0)));
    if (content.size() > max_bytes + 1) content.resize(max_bytes + 1);
    const ssize_t count = ::read(fd, content.data() + used, content.size() - used);
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

absl::StatusOr<std::string> TargetOf(const Place& place, const std::string& path) {
  std::string target(PATH_MAX, '\0');
  ssize_t size = 0;
  const int result = place.folder.AsOwner([&] {
    size = ::readlinkat(place.folder.fd(), place.name.c_str(), target.data(), target.size());
    return size < 0 ? -1 : 0;
  });
  if (result != 0) return FileError(errno, "reading the link", path);
  target.resize(static_cast<size_t>(size));
  return target;
}

// Where `path` is; nullopt if not even its folder exists.
absl::StatusOr<std::optional<Place>> Find(const std::string& path, absl::string_view what) {
  absl::StatusOr<Place> place = Place::Reach(path, what);
  if (absl::IsNotFound(place.status())) return std::optional<Place>();
  RETURN_IF_ERROR(place.status());
  return std::optional<Place>(*std::move(place));
}

// Describes the file at the place; nullopt when there is none.
absl::StatusOr<std::optional<struct stat>> StatAt(const std::optional<Place>& place,
                                                  const std::string& path) {
  struct stat info = {};
  if (!place.has_value()) return std::optional<struct stat>();
  if (place->folder.Stat(place->name, &info)) return std::optional<struct stat>(info);
  if (errno == ENOENT || errno == ENOTDIR) return std::optional<struct stat>();
  return FileError(errno, "reading", path);
}

}  // namespace

absl::StatusOr<std::string> RealFileSystem::Read(const std::string& path, size_t max_bytes) {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY, LastLink::kFollow, "reading"));
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) return FileError(errno, "reading", path);
  if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat("reading ", path, ": not a regular file"));
  return ReadAll(fd.get(), info, max_bytes, path);
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
  return absl::InternalError(absl::StrCat("writing to ", path, ": the kernel accepted ", written,
                                          " of ", request.size(), " bytes"));
}

absl::StatusOr<std::optional<FileStat>> RealFileSystem::Stat(const std::string& path) {
  ASSIGN_OR_RETURN(const std::optional<Place> place, Find(path, "reading"));
  ASSIGN_OR_RETURN(const std::optional<struct stat> info, StatAt(place, path));
  if (!info.has_value()) return std::optional<FileStat>();
  return std::optional<FileStat>(ToFileStat(*info));
}

absl::StatusOr<std::optional<FileView>> RealFileSystem::View(const std::string& path,
                                                             size_t max_bytes) {
  ASSIGN_OR_RETURN(const std::optional<Place> place, Find(path, "reading"));
  ASSIGN_OR_RETURN(const std::optional<struct stat> info, StatAt(place, path));
  if (!info.has_value()) return std::optional<FileView>();
  FileView view = {.stat = ToFileStat(*info), .content = ""};
  if (view.stat.type == FileType::kSymlink) {
    ASSIGN_OR_RETURN(view.content, TargetOf(*place, path));
  }
  if (view.stat.type != FileType::kRegular) return std::optional<FileView>(std::move(view));
  const UniqueFd fd = place->folder.OpenFile(place->name, O_RDONLY);
  struct stat opened = {};
  if (!fd.valid() || ::fstat(fd.get(), &opened) != 0) return FileError(errno, "reading", path);
  view.stat = ToFileStat(opened);
  if (view.stat.type == FileType::kRegular && view.stat.size <= max_bytes) {
    ASSIGN_OR_RETURN(view.content, ReadAll(fd.get(), opened, max_bytes, path));
  }
  return std::optional<FileView>(std::move(view));
}

absl::Status RealFileSystem::MakeDirectory(const std::string& path, mode_t mode) {
  const absl::StatusOr<Folder> there = OpenFolder(path, "creating");
  if (!absl::IsNotFound(there.status())) return there.status();
  const size_t slash = path.rfind('/');
  if (slash != 0 && slash != std::string::npos)
    RETURN_IF_ERROR(MakeDirectory(path.substr(0, slash), 0755));
  ASSIGN_OR_RETURN(const Place place, Place::Reach(path, "creating"));
  const absl::Status made =
      place.folder.MakeFolder(place.name, mode, /*ours=*/false, path).status();
  if (!absl::IsAlreadyExists(made)) return made;
  // A parallel role may have been quicker.
  if (OpenFolder(path, "creating").ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path, " exists and is not a directory"));
}

absl::Status RealFileSystem::Remove(const std::string& path, bool recursive) {
  ASSIGN_OR_RETURN(const std::optional<Place> place, Find(path, "removing"));
  ASSIGN_OR_RETURN(const std::optional<struct stat> info, StatAt(place, path));
  if (!info.has_value()) return absl::OkStatus();
  const bool is_directory = S_ISDIR(info->st_mode);
  if (is_directory && recursive) return place->folder.RemoveTree(place->name, path);
  const int result = place->folder.AsOwner([&] {
    return ::unlinkat(place->folder.fd(), place->name.c_str(), is_directory ? AT_REMOVEDIR : 0);
  });
  if (result == 0 || errno == ENOENT) return absl::OkStatus();
  if (is_directory && (errno == ENOTEMPTY || errno == EEXIST))
    return absl::FailedPreconditionError(
        absl::StrCat("removing ", path, ": the directory is not empty"));
  return FileError(errno, "removing", path);
}

absl::StatusOr<std::string> RealFileSystem::ReadLink(const std::string& path) {
  ASSIGN_OR_RETURN(const Place place, Place::Reach(path, "reading the link"));
  return TargetOf(place, path);
}

absl::Status RealFileSystem::MakeSymlink(const std::string& target, const std::string& path) {
  return ReplaceWithSymlink(target, path);
}

absl::Status RealFileSystem::SetAttributes(const std::string& path,
                                           const FileAttributes& attributes) {
  ASSIGN_OR_RETURN(const Place place, Place::Reach(path, "opening"));
  // O_PATH would not allow fchmod.
  const UniqueFd fd = place.folder.OpenFile(place.name, O_RDONLY);
  if (!fd.valid()) {
    if (errno == ELOOP)
      return absl::InvalidArgumentError(absl::StrCat(path, " is a symbolic link"));
    return FileError(errno, "opening", path);
  }
  return place.folder.SetAttributes(fd.get(), attributes.uid.value_or(-1),
                                    attributes.gid.value_or(-1),
                                    attributes.mode ? &*attributes.mode : nullptr, path);
}

absl::StatusOr<std::vector<std::string>> RealFileSystem::List(const std::string& directory) {
  ASSIGN_OR_RETURN(const Folder folder, OpenFolder(directory, "listing"));
  return folder.Names(directory);
}

absl::StatusOr<std::string> RealFileSystem::ForeignFolder(const std::string& path) {
  return sys::ForeignFolder(path);
}

}  // namespace muster::sys
