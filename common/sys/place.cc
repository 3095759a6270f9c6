#include "common/sys/place.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/sys/file_error.h"

namespace muster::sys {
namespace {

constexpr int kMaxLinks = 40;  // the kernel's own limit
constexpr int kHoldFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;

// A part that is not a directory hides everything below it just as a missing one does.
absl::Status WalkError(int error, absl::string_view what, const std::string& path) {
  const absl::Status status = FileError(error, what, path);
  return error == ENOTDIR ? absl::NotFoundError(status.message()) : status;
}

// "/a/b/" is "b" in "/a", "b" is "b" in ".", "/" is "." in "/".
std::pair<std::string, std::string> Split(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  if (path == "/") return {"/", "."};
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return {".", std::string(path)};
  return {std::string(path.substr(0, slash == 0 ? 1 : slash)), std::string(path.substr(slash + 1))};
}

// Walks one path, a part at a time: for paths with links, and for kernels and containers without
// openat2.
class Walk {
 public:
  // `path` is the name for errors.
  Walk(absl::string_view what, const std::string& path) : what_(what), path_(path) {}

  // Walks to the last part of `way`, which is not a link.
  absl::StatusOr<Place> Run(const std::string& way) {
    RETURN_IF_ERROR(Add(way));
    while (!todo_.empty()) {
      const std::string name = std::move(todo_.front());
      todo_.pop_front();
      const std::string reached = absl::StrCat(at_ == "/" ? "" : at_, "/", name);
      if (name == "..") {
        // A foreign folder's owner may have moved its contents anywhere.
        if (!foreign_.empty())
          return absl::PermissionDeniedError(absl::StrCat(
              what_, " ", path_, ": '..' below ", foreign_, ", which other users can change"));
        RETURN_IF_ERROR(Enter(name, at_ == "." ? reached : Split(at_).first));
        continue;
      }
      struct stat info = {};
      const UniqueFd held(folder_->AsOwner(
          [&] { return ::openat(folder_->fd(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC); }));
      if (!held.valid() && errno == ENOENT && todo_.empty()) return End(name);
      if (!held.valid() || ::fstat(held.get(), &info) != 0) return WalkError(errno, what_, path_);
      if (S_ISLNK(info.st_mode)) {
        RETURN_IF_ERROR(FollowLink(held.get(), info, reached));
      } else if (todo_.empty()) {
        return End(name);
      } else {
        RETURN_IF_ERROR(Enter(name, reached));
      }
    }
    return End(".");
  }

  // For the part that was walked.
  const std::string& foreign() const { return foreign_; }

 private:
  // Puts the parts of `path` before those still to walk.
  absl::Status Add(absl::string_view path) {
    const std::vector<std::string> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      if (*part != ".") todo_.push_front(*part);
    }
    const bool from_root = path.front() == '/';
    if (!from_root && folder_.has_value()) return absl::OkStatus();
    at_ = std::string(1, from_root ? '/' : '.');
    UniqueFd fd(::open(at_.c_str(), kHoldFolder));
    if (!fd.valid()) return WalkError(errno, what_, path_);
    return Stand(std::move(fd));
  }

  absl::Status Stand(UniqueFd fd) {
    ASSIGN_OR_RETURN(folder_, Folder::Hold(std::move(fd), what_, path_));
    if (foreign_.empty() && folder_->IsForeign()) foreign_ = at_;
    return absl::OkStatus();
  }

  absl::Status Enter(const std::string& name, std::string reached) {
    UniqueFd fd(folder_->AsOwner(
        [&] { return ::openat(folder_->fd(), name.c_str(), kHoldFolder | O_NOFOLLOW); }));
    if (!fd.valid()) return WalkError(errno, what_, path_);
    at_ = std::move(reached);
    return Stand(std::move(fd));
  }

  absl::Status FollowLink(int link, const struct stat& info, const std::string& reached) {
    if (++links_ > kMaxLinks) return WalkError(ELOOP, what_, path_);
    // In a folder like /tmp somebody may have given another name to a link of root's.
    const bool rooted = IsOurs(info.st_uid) && (info.st_nlink == 1 || !folder_->IsShared());
    if (!foreign_.empty() || !rooted)
      return absl::PermissionDeniedError(absl::StrCat(
          what_, " ", path_, ": ", reached, " is a symbolic link that ",
          foreign_.empty()
              ? absl::StrCat("uid ", info.st_uid, " made")
              : absl::StrCat("users other than root can change (they control ", foreign_, ")"),
          "; root does not follow it: put a directory in its place, or specify the directory "
          "itself"));
    std::string target(PATH_MAX, '\0');
    const ssize_t size = ::readlinkat(link, "", target.data(), target.size());
    if (size <= 0) return WalkError(size < 0 ? errno : ENOENT, what_, path_);
    return Add(absl::string_view(target.data(), static_cast<size_t>(size)));
  }

  Place End(const std::string& name) { return Place{*std::exchange(folder_, std::nullopt), name}; }

  const absl::string_view what_;
  const std::string& path_;
  std::deque<std::string> todo_;
  std::optional<Folder> folder_;
  std::string at_;  // its path
  std::string foreign_;
  int links_ = 0;
};

// Invalid with errno. A single call if there is no link, as is nearly always the case.
UniqueFd OpenWithoutLinks(const std::string& path) {
  struct open_how how = {};
  how.flags = kHoldFolder;
  how.resolve = RESOLVE_NO_SYMLINKS;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how))));
}

// The directory at `way`; errors name `path`.
absl::StatusOr<Folder> OpenFolderOn(const std::string& way, absl::string_view what,
                                    const std::string& path) {
  if (way.empty()) return WalkError(ENOENT, what, path);
  const bool root = ::geteuid() == 0;
  UniqueFd fd = root ? OpenWithoutLinks(way) : UniqueFd(::open(way.c_str(), kHoldFolder));
  if (fd.valid()) return Folder::Hold(std::move(fd), what, path);
  if (!root || errno == ENOENT || errno == ENOTDIR) return WalkError(errno, what, path);
  // A link, a folder that root may not enter (NFS), or no openat2 (ENOSYS, in containers EPERM).
  ASSIGN_OR_RETURN(const Place place, Walk(what, path).Run(way));
  struct stat info = {};
  if (place.folder.Stat(place.name, &info) && !S_ISDIR(info.st_mode))
    return WalkError(ENOTDIR, what, path);
  return place.folder.Enter(place.name, what, path);
}

}  // namespace

absl::StatusOr<Folder> OpenFolder(const std::string& path, absl::string_view what) {
  return OpenFolderOn(path, what, path);
}

absl::StatusOr<Place> Place::Reach(const std::string& path, absl::string_view what) {
  auto [parent, name] = Split(path);
  ASSIGN_OR_RETURN(Folder folder, OpenFolderOn(parent, what, path));
  return Place{std::move(folder), std::move(name)};
}

absl::StatusOr<Place> Place::Follow(const std::string& path, absl::string_view what) {
  if (path.empty()) return WalkError(ENOENT, what, path);
  return Walk(what, path).Run(path);
}

absl::StatusOr<UniqueFd> OpenFile(const std::string& path, int flags, LastLink last_link,
                                  absl::string_view what) {
  if (::geteuid() != 0 && last_link == LastLink::kFollow) {
    UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!file.valid()) return WalkError(errno, what, path);
    return file;
  }
  ASSIGN_OR_RETURN(const Place place, Place::Reach(path, what));
  UniqueFd file = place.folder.OpenFile(place.name, flags);
  if (!file.valid() && errno == ELOOP && last_link == LastLink::kFollow) {
    ASSIGN_OR_RETURN(const Place end, Place::Follow(path, what));
    file = end.folder.OpenFile(end.name, flags);
  }
  if (!file.valid()) return FileError(errno, what, path);
  return file;
}

absl::StatusOr<std::string> ForeignFolder(const std::string& path) {
  if (::geteuid() != 0) return std::string();
  const std::string folder = Split(path).first;
  Walk walk("looking at", path);
  const absl::StatusOr<Place> place = walk.Run(folder);
  if (!place.ok() && !absl::IsNotFound(place.status())) return place.status();
  if (!walk.foreign().empty() || !place.ok()) return walk.foreign();
  const absl::StatusOr<Folder> last = place->folder.Enter(place->name, "looking at", path);
  return last.ok() && last->IsForeign() ? folder : std::string();
}

}  // namespace muster::sys
