#include "common/sys/atomic_write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/file_error.h"
#include "common/sys/leftovers.h"
#include "common/sys/place.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {
namespace {

// Where a new file is verified if users could replace it at its own place. Only root has access.
constexpr char kStagingPattern[] = "/run/muster-verify-XXXXXX";

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

// The attributes of a file that replaces another one.
struct Attributes {
  mode_t mode = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

absl::Status IsADirectory(const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, " is a directory; remove it first if a file should take its place"));
}

absl::StatusOr<Attributes> NewAttributes(const Place& place, const WriteOptions& options,
                                         const std::string& path) {
  struct stat old = {};
  const bool replaces = place.folder.Stat(place.name, &old);
  if (replaces && S_ISDIR(old.st_mode)) return IsADirectory(path);
  const bool keeps = replaces && S_ISREG(old.st_mode);
  // Anybody who shares the folder can choose which old file is there, but must not decide as whom
  // the new one runs.
  const mode_t kept = old.st_mode & (place.folder.IsShared() ? 0777 : 07777);
  // Without a wanted group, a file gets the one that its folder gives (set-gid).
  const gid_t any = options.uid.has_value() ? ::getegid() : static_cast<gid_t>(-1);
  return Attributes{.mode = options.mode.value_or(keeps ? kept : 0644),
                    .uid = options.uid.value_or(keeps ? old.st_uid : ::geteuid()),
                    .gid = options.gid.value_or(keeps ? old.st_gid : any)};
}

absl::Status SetAndSync(const Folder& folder, int fd, const Attributes& attributes,
                        const std::string& path) {
  RETURN_IF_ERROR(folder.SetAttributes(fd, attributes.uid, attributes.gid, &attributes.mode, path));
  if (::fsync(fd) != 0) return FileError(errno, "syncing", path);
  return absl::OkStatus();
}

// Under SELinux a file has the label of the folder in which it was made, and keeps it in another
// folder, where services may then not read it.
bool WouldKeepLabel(int fd, const Folder& from, const Folder& to) {
  if (::fgetxattr(fd, "security.selinux", nullptr, 0) < 0) return false;
  struct stat old_folder = {}, new_folder = {};
  return ::fstat(from.fd(), &old_folder) != 0 || ::fstat(to.fd(), &new_folder) != 0 ||
         old_folder.st_dev != new_folder.st_dev || old_folder.st_ino != new_folder.st_ino;
}

absl::Status CopyAll(int from, int to, const std::string& path) {
  // By the kernel, if the file systems support it; some even share the blocks.
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

absl::Status Rename(const Folder& folder, const std::string& from, const std::string& to,
                    const std::string& path) {
  if (folder.AsOwner(
          [&] { return ::renameat(folder.fd(), from.c_str(), folder.fd(), to.c_str()); }) == 0)
    return absl::OkStatus();
  return errno == EISDIR ? IsADirectory(path) : FileError(errno, "replacing", path);
}

// Has a copy verified, in a folder that nobody else may enter.
absl::Status VerifyCopy(int fd, const std::string& name, const Attributes& attributes,
                        const WriteOptions& options, const std::string& path) {
  std::string staging = kStagingPattern;
  if (::mkdtemp(staging.data()) == nullptr) return FileError(errno, "creating", staging);
  const std::string copy = absl::StrCat(staging, "/", name);
  const absl::Cleanup remove = [&] {
    ::unlink(copy.c_str());
    ::rmdir(staging.c_str());
  };
  {
    ASSIGN_OR_RETURN(const Folder folder, OpenFolder(staging, "opening"));
    const UniqueFd file = folder.CreateFile(name, attributes.uid, attributes.gid);
    if (!file.valid()) return FileError(errno, "creating", copy);
    if (::lseek(fd, 0, SEEK_SET) != 0) return FileError(errno, "reading", path);
    RETURN_IF_ERROR(CopyAll(fd, file.get(), copy));
    RETURN_IF_ERROR(
        folder.SetAttributes(file.get(), attributes.uid, attributes.gid, &attributes.mode, copy));
  }
  return options.verify(copy);
}

// `fill` writes the new content to the descriptor it gets.
absl::Status ReplaceFile(const std::string& path, absl::FunctionRef<absl::Status(int)> fill,
                         const WriteOptions& options) {
  ASSIGN_OR_RETURN(const Place place, Place::Reach(path, "creating"));
  const Folder& folder = place.folder;
  ASSIGN_OR_RETURN(const Attributes attributes, NewAttributes(place, options, path));
  RemoveLeftovers(folder, place.name, FirstWrite());
  const std::string temporary = TemporaryName(place.name);
  UniqueFd fd = folder.CreateFile(temporary, attributes.uid, attributes.gid);
  if (!fd.valid()) return FileError(errno, "creating", path);
  absl::Cleanup remove = [&] {
    folder.AsOwner([&] { return ::unlinkat(folder.fd(), temporary.c_str(), 0); });
  };

  RETURN_IF_ERROR(fill(fd.get()));
  RETURN_IF_ERROR(SetAndSync(folder, fd.get(), attributes, path));
  if (options.verify) {
    ASSIGN_OR_RETURN(const std::string foreign, ForeignFolder(path));
    if (foreign.empty()) {
      // Closed before it is verified or run: an open writer means "text file busy".
      fd.Reset();
      RETURN_IF_ERROR(options.verify(absl::StrCat(path.substr(0, path.rfind('/') + 1), temporary)));
    } else {
      RETURN_IF_ERROR(VerifyCopy(fd.get(), place.name, attributes, options, path));
    }
  }
  fd.Reset();
  RETURN_IF_ERROR(Rename(folder, temporary, place.name, path));
  std::move(remove).Cancel();
  return folder.Sync(path);
}

}  // namespace

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content,
                                 const WriteOptions& options) {
  return ReplaceFile(
      path, [&](int fd) { return WriteAll(fd, content, path); }, options);
}

absl::Status PlaceFile(const std::string& from, const std::string& path,
                       const WriteOptions& options, bool may_move) {
  ASSIGN_OR_RETURN(const Place source, Place::Reach(from, "opening"));
  const UniqueFd file = source.folder.OpenFile(source.name, O_RDONLY);
  struct stat there = {};
  if (!file.valid() || ::fstat(file.get(), &there) != 0) return FileError(errno, "opening", from);
  if (may_move && there.st_nlink == 1 && !options.verify) {
    ASSIGN_OR_RETURN(const Place place, Place::Reach(path, "replacing"));
    // The folders tell: on an overlay over two file systems, such as the root of a node that runs
    // from memory, a file has another device than its folder.
    if (place.folder.device() == source.folder.device() &&
        !WouldKeepLabel(file.get(), source.folder, place.folder)) {
      ASSIGN_OR_RETURN(const Attributes attributes, NewAttributes(place, options, path));
      RETURN_IF_ERROR(SetAndSync(source.folder, file.get(), attributes, path));
      if (::renameat(source.folder.fd(), source.name.c_str(), place.folder.fd(),
                     place.name.c_str()) == 0)
        return place.folder.Sync(path);
      // Two mounts of one file system, for instance: copying is still possible.
      if (errno != EXDEV) return FileError(errno, "replacing", path);
    }
  }
  return ReplaceFile(
      path, [&](int fd) { return CopyAll(file.get(), fd, path); }, options);
}

absl::Status ReplaceWithSymlink(const std::string& target, const std::string& path) {
  ASSIGN_OR_RETURN(const Place place, Place::Reach(path, "linking"));
  const Folder& folder = place.folder;
  RemoveLeftovers(folder, place.name, FirstWrite());
  const std::string temporary = TemporaryName(place.name);
  const auto link = [&] { return ::symlinkat(target.c_str(), folder.fd(), temporary.c_str()); };
  if (folder.AsOwner(link, folder.group()) != 0) return FileError(errno, "linking", path);
  absl::Cleanup remove = [&] {
    folder.AsOwner([&] { return ::unlinkat(folder.fd(), temporary.c_str(), 0); });
  };
  RETURN_IF_ERROR(Rename(folder, temporary, place.name, path));
  std::move(remove).Cancel();
  return folder.Sync(path);
}

}  // namespace muster::sys
