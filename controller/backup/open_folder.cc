#include "controller/backup/open_folder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/id.h"
#include "common/base/status.h"

namespace muster::controller {
namespace {

constexpr size_t kReadPieceBytes = 256 << 10;

absl::Status WriteAll(int fd, absl::string_view data) {
  while (!data.empty()) {
    const ssize_t count = write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "writing");
    data.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status CopyAll(int from, int to) {
  std::string piece(kReadPieceBytes, '\0');
  while (true) {
    const ssize_t count = read(from, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "reading");
    if (count == 0) return absl::OkStatus();
    RETURN_IF_ERROR(WriteAll(to, absl::string_view(piece.data(), static_cast<size_t>(count))));
  }
}

absl::Status Give(int fd, std::optional<OpenFolder::Owner> owner) {
  if (!owner.has_value() || fchown(fd, owner->uid, owner->gid) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "setting its owner");
}

}  // namespace

absl::StatusOr<OpenFolder> OpenFolder::At(const std::string& path) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  if (error) return ErrnoStatus(error.value(), absl::StrCat("opening the folder ", path));
  open_how how = {};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  sys::UniqueFd fd(
      static_cast<int>(syscall(SYS_openat2, AT_FDCWD, real.c_str(), &how, sizeof how)));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("opening the folder ", real));
  return OpenFolder(real, std::move(fd));
}

absl::StatusOr<OpenFolder> OpenFolder::Inner(const std::string& name) const {
  if (mkdirat(fd_.get(), name.c_str(), 0700) != 0 && errno != EEXIST) return Failed("making", name);
  sys::UniqueFd fd(
      openat(fd_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return Failed("opening the folder", name);
  return OpenFolder(absl::StrCat(path_, "/", name), std::move(fd));
}

bool OpenFolder::Has(const std::string& name) const {
  struct stat info;
  return fstatat(fd_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

absl::StatusOr<OpenFolder::Owner> OpenFolder::GetOwner() const {
  struct stat info;
  if (fstat(fd_.get(), &info) != 0) return Failed("reading the owner of", ".");
  return Owner{info.st_uid, info.st_gid};
}

absl::Status OpenFolder::CopyOut(const std::string& name, const std::string& target) const {
  const sys::UniqueFd from(
      openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!from.valid() && errno != ELOOP) return Failed("opening", name);
  struct stat info;
  if (!from.valid() || fstat(from.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return absl::FailedPreconditionError(
        absl::StrCat(path_, "/", name, " is not a plain file: move it away"));
  const sys::UniqueFd to(open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!to.valid()) return ErrnoStatus(errno, absl::StrCat("creating ", target));
  return Annotate(CopyAll(from.get(), to.get()),
                  absl::StrCat("copying ", path_, "/", name, " to ", target));
}

absl::Status OpenFolder::Put(const std::string& name, absl::FunctionRef<absl::Status(int fd)> write,
                             mode_t mode, std::optional<Owner> owner) const {
  const std::string partial = absl::StrCat(".", name, ".", NewUuid());
  const sys::UniqueFd fd(openat(fd_.get(), partial.c_str(),
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return Failed("creating", name);
  absl::Status status = write(fd.get());
  if (status.ok()) status = Give(fd.get(), owner);
  if (status.ok() && (fchmod(fd.get(), mode) != 0 || fsync(fd.get()) != 0))
    status = ErrnoStatus(errno, "finishing");
  if (status.ok()) status = Rename(partial, name);
  if (status.ok()) return status;
  unlinkat(fd_.get(), partial.c_str(), 0);
  return Annotate(status, absl::StrCat(path_, "/", name));
}

absl::Status OpenFolder::PutFile(const std::string& name, const std::string& source, mode_t mode,
                                 std::optional<Owner> owner) const {
  const sys::UniqueFd from(open(source.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!from.valid()) return ErrnoStatus(errno, absl::StrCat("reading ", source));
  return Put(
      name, [&](int fd) { return CopyAll(from.get(), fd); }, mode, owner);
}

absl::Status OpenFolder::PutText(const std::string& name, absl::string_view content, mode_t mode,
                                 std::optional<Owner> owner) const {
  return Put(
      name, [&](int fd) { return WriteAll(fd, content); }, mode, owner);
}

absl::Status OpenFolder::MoveInto(const OpenFolder& other, const std::string& name) const {
  if (renameat(fd_.get(), name.c_str(), other.fd_.get(), name.c_str()) == 0)
    return absl::OkStatus();
  return Failed("moving aside", name);
}

absl::Status OpenFolder::Rename(const std::string& from, const std::string& to) const {
  if (renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) == 0) return absl::OkStatus();
  return Failed("putting into place", to);
}

absl::Status OpenFolder::Own(std::optional<Owner> owner) const {
  return Annotate(Give(fd_.get(), owner), path_);
}

absl::Status OpenFolder::OwnFile(const std::string& name, std::optional<Owner> owner) const {
  if (!owner.has_value()) return absl::OkStatus();
  const sys::UniqueFd fd(
      openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  // A hard link to a file that is elsewhere keeps its owner.
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return Failed("opening", name);
  if (!S_ISREG(info.st_mode) || info.st_nlink != 1)
    return absl::FailedPreconditionError(
        absl::StrCat(path_, "/", name, " is not a plain file with one name: remove it"));
  return Annotate(Give(fd.get(), owner), absl::StrCat(path_, "/", name));
}

absl::Status OpenFolder::SetMode(mode_t mode) const {
  return fchmod(fd_.get(), mode) == 0 ? absl::OkStatus() : Failed("changing the mode of", ".");
}

std::string OpenFolder::PathOf(const std::string& name) const {
  return absl::StrCat("/proc/self/fd/", fd_.get(), "/", name);
}

absl::Status OpenFolder::Failed(const char* doing, const std::string& name) const {
  return ErrnoStatus(errno, absl::StrCat(doing, " ", path_, "/", name));
}

}  // namespace muster::controller
